// The rules about values: where they come from, what they reach, their types and shapes.
#include "generator/check/rules.h"

namespace kiln {
namespace {

const Rule kValueRules[] = {
    {
        "undefined",
        "a value that nothing has set reaches a result",
        R"(Some elements hold nothing that can be relied on: an output block at the start of each stay (also
when the block was visited before), scratch whenever the coordinates of the parallel axes change,
elements past an array's edge without `pad`, and the result of `x // 0`. `init` and `pad` give them a
value.

Undefined values may be computed with, moved, dropped by `where`, by a mask or by a later store. It is
an error when one reaches an output's final value, a scalar condition, an index or a copy; the diagnostic
names where it came from. A kernel that never sets an accumulator is found from the spec alone, the
rest by `kiln run`, element by element.)",
        R"(VMEM is not cleared: an output block or a scratch buffer starts with what the last user of that
memory left there, often the previous block, so the result looks plausible and changes with block
sizes and with the number of cores. Interpret mode fills such memory with NaN, but integers with an
ordinary number, and says nothing.)",
        {R"(kernel: stack_sum
grid:
  i: count
inputs:
  x:
    array: f32[count, m, n]
    block: [null, all, all]
    index: i, 0, 0
outputs:
  o: f32[m, n]
body: |
  o += x
)",
         "check FILE"},
        {R"(kernel: stack_sum
grid:
  i: count
inputs:
  x:
    array: f32[count, m, n]
    block: [null, all, all]
    index: i, 0, 0
outputs:
  o: f32[m, n]
body: |
  when first(i):
    o = 0
  o += x
)",
         "run FILE x=random:1 count=4 m=8 n=8"},
    },

    {
        "tail",
        "a sum runs over a ragged edge",
        R"(The last block of a dimension that is no multiple of the block reaches past the array's edge, and the
elements there are undefined. A contraction (`dot`) or a reduction along that dimension adds them up,
so it needs `pad` or a mask on *every* operand: zeros on one side are not enough, since `0 * nan` is
NaN.

Found from the spec alone when no `pad`, `where` or `inside` stands between the operand and the sum
and nothing says that the dimension is a multiple of the block; exactly, per element, in `kiln run`.
Ways out: `pad: 0`, `where(inside(x), x, 0)`, or `dims: {k: {multiple_of: 128}}`.)",
        R"(The block keeps its full shape on a TPU and the part past the edge holds whatever was in VMEM;
nothing is masked. With a block size that divides the test's sizes all is well, and the first ragged
size in production gives NaN, or numbers that are slightly wrong.)",
        {R"(kernel: row_sums
params: {bm: 8, bn: 128}
grid:
  i: cdiv(m, bm)
  j: cdiv(n, bn)
dimension_semantics: parallel, arbitrary
inputs:
  x:
    array: f32[m, n]
    block: bm, bn
    index: i, j
outputs:
  o:
    array: f32[m]
    block: bm
    index: i
body: |
  when first(j):
    o = 0
  o += sum(x, axis=1)
)",
         "check FILE"},
        {R"(kernel: row_sums
params: {bm: 8, bn: 128}
grid:
  i: cdiv(m, bm)
  j: cdiv(n, bn)
dimension_semantics: parallel, arbitrary
inputs:
  x:
    array: f32[m, n]
    block: bm, bn
    index: i, j
    pad: 0
outputs:
  o:
    array: f32[m]
    block: bm
    index: i
body: |
  when first(j):
    o = 0
  o += sum(x, axis=1)
)",
         "run FILE x=random:1 m=20 n=300"},
    },

    {
        "coverage",
        "an element of an output is never stored",
        R"(Every element of every output must be stored by some step. Three kinds are found: blocks that no step
visits (`m // b` steps drop the ragged rest), blocks that are visited but into which no store runs,
and single elements that no store touches (the last in `kiln run`).

Two things make unwritten elements legal: `init`, the value they end with, and `alias`: blocks that
*no step visits* keep the input's values. `init: undefined` says that you do not mind. (An element that
is stored with an undefined value is [undefined] instead.))",
        R"(An output that is not written is not an error on a TPU. A block that no step visits keeps what the
freshly allocated array in HBM held; a block that is visited but not stored is still written back, with
what VMEM held. Interpret mode shows NaN there; TPU interpret mode writes back the data of the block
before, without a message.)",
        {R"(kernel: doubled
params: {b: 8}
grid:
  i: m // b
inputs:
  x:
    array: f32[m]
    block: b
    index: i
outputs:
  o:
    array: f32[m]
    block: b
    index: i
body: |
  o = x * 2
)",
         "check FILE m=20"},
        {R"(kernel: doubled
params: {b: 8}
grid:
  i: cdiv(m, b)
inputs:
  x:
    array: f32[m]
    block: b
    index: i
outputs:
  o:
    array: f32[m]
    block: b
    index: i
body: |
  o = x * 2
)",
         "run FILE x=random:1 m=20"},
    },

    {
        "type",
        "types do not fit",
        R"(Values have the dtype they are stored with. What moves or selects keeps it; arithmetic, comparisons
and functions compute in f32 for bf16 and f16 and in i32 for the small integers and bool. No other
conversion is implicit: a value of another dtype needs a cast by the dtype's name, `bf16(x)`.

Literals, integer params, dims, axes and loop variables are *weak*, they take the type of the other
side, but an integer that is no literal combines with a float array only as `f32(j)`, and a literal that does not
fit is an error. `/` on integers is one too (write `//`), and so is a condition that is a tile. Index
maps, shapes and steps are 64-bit integers throughout.)",
        R"(`jnp.dot` of bf16 gives bf16 unless `preferred_element_type` says otherwise, and a bf16 output that
accumulates is rounded to 8 bits at every step of the grid. int64, bool tiles and stores of the wrong
type fail late, with messages of the lowering rather than of your kernel. Here every rounding stands in
the text.)",
        {R"(kernel: scaled
grid:
  i: cdiv(m, 16)
inputs:
  x:
    array: bf16[m, n]
    block: 16, all
    index: i, 0
outputs:
  o:
    array: bf16[m, n]
    block: 16, all
    index: i, 0
body: |
  o = x * 0.5
)",
         "check FILE"},
        {R"(kernel: scaled
grid:
  i: cdiv(m, 16)
inputs:
  x:
    array: bf16[m, n]
    block: 16, all
    index: i, 0
outputs:
  o:
    array: bf16[m, n]
    block: 16, all
    index: i, 0
body: |
  o = bf16(x * 0.5)
)",
         "run FILE x=random:1 m=40 n=64"},
    },

    {
        "shape",
        "shapes do not fit",
        R"(Operands of arithmetic broadcast as in numpy: extents are equal, or one of them is 1. `dot(a, b)` takes
`[m, k]` and `[k, n]`. A stored value broadcasts to what it is stored into. Axes are within the rank, a
`block` and an `index` have an entry for each dimension of the array.

Shapes may be symbolic: `[bm, n]` and `[bm, n]` are equal whatever n is, `[8]` and `[4]` never are.
What depends on sizes (`[m]` against `[n]`) becomes a condition that every call checks.)",
        R"(The same rules as jnp's. JAX checks them while it traces a kernel for one set of shapes; here they are
checked for all sizes at once, and what remains for a call to decide is returned as a status and never
reads past a buffer.)",
        {R"(kernel: gram
params: {b: 128}
grid:
  i: cdiv(k, b)
inputs:
  x:
    array: f32[k, 64]
    block: b, all
    index: i, 0
    pad: 0
outputs:
  o: f32[64, 64]
body: |
  when first(i):
    o = 0
  o += dot(x, x)
)",
         "check FILE"},
        {R"(kernel: gram
params: {b: 128}
grid:
  i: cdiv(k, b)
inputs:
  x:
    array: f32[k, 64]
    block: b, all
    index: i, 0
    pad: 0
outputs:
  o: f32[64, 64]
body: |
  when first(i):
    o = 0
  o += dot(x.T, x)
)",
         "run FILE x=random:1 k=200"},
    },

    {
        "assert",
        "an assertion of the body does not hold",
        R"(`assert c, "message"` states what the author relies on. Over axes, sizes, scalars and prefetch arrays
it is evaluated over the whole grid before any body runs (`kiln check` with sizes); over the data it is
checked step by step in `kiln run`, the emulator and checked builds. Plain builds do not evaluate it.

For what must hold of a call as a whole, `require` is the better place: it is checked at every call, in
every build, and returned as a status.)",
        R"(There is no dependable assert inside a TPU kernel: `checkify` does not pass through `pallas_call`, and
`debug_check` needs a flag. Facts about prefetched indices, such as "sorted" or "aligned to 8", usually
live in a comment, and a call that breaks them gives wrong numbers.)",
        {R"(kernel: row_copy
prefetch:
  starts: i32[t]
grid:
  s: t
inputs:
  x:
    array: f32[m, 128]
    block: 8, all
    index: starts[s] // 8, 0
outputs:
  o:
    array: f32[t, 8, 128]
    block: [null, all, all]
    index: s, 0, 0
body: |
  assert starts[s] % 8 == 0, "starts must be multiples of 8"
  o = x
)",
         "check FILE m=64 starts=8,12"},
        {R"(kernel: row_copy
prefetch:
  starts: i32[t]
grid:
  s: t
inputs:
  x:
    array: f32[m, 128]
    block: 8, all
    index: starts[s] // 8, 0
outputs:
  o:
    array: f32[t, 8, 128]
    block: [null, all, all]
    index: s, 0, 0
body: |
  assert starts[s] % 8 == 0, "starts must be multiples of 8"
  o = x
)",
         "check FILE m=64 starts=8,16"},
    },

    {
        "reference",
        "an output is not what its reference says",
        R"(`reference` says what outputs ought to be, in an expression over whole arrays that knows nothing of
grids and blocks, or as recorded arrays. `kiln check --reference` with sizes interprets the call on random
inputs and compares: every element has to be within what roundings along the body's longest chain of
operations can make of it. `kiln golden` holds what it records, and what it checks, against it as well.

All other rules find kernels that mean nothing for sure. This one finds a kernel that means something
else: an index map that takes the wrong block, a factor that is missing, a sum that was not cleared. The
worst element's index shows where to look: in the first block or only in later ones, along which axis,
at the ragged edge or everywhere. Sizes of a single block separate the body from the index maps.)",
        R"(The TPU computes what the kernel says. Whoever compares with a dense formula in a unit test finds it
there, for the sizes that the test has.)",
        {R"(kernel: product
grid:
  i: cdiv(m, 8)
  l: cdiv(k, 8)
inputs:
  x: {array: "f32[m, k]", block: "8, 8", index: "i, l", pad: 0}
  y: {array: "f32[k, n]", block: "8, all", index: "0, 0", pad: 0}
outputs:
  z: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
body: |
  when first(l):
    z = 0
  z += dot(x, y)
reference:
  z: dot(x, y)
)",
         "check FILE m=8 k=16 n=4 --reference"},
        {R"(kernel: product
grid:
  i: cdiv(m, 8)
  l: cdiv(k, 8)
inputs:
  x: {array: "f32[m, k]", block: "8, 8", index: "i, l", pad: 0}
  y: {array: "f32[k, n]", block: "8, all", index: "l, 0", pad: 0}
outputs:
  z: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
body: |
  when first(l):
    z = 0
  z += dot(x, y)
reference:
  z: dot(x, y)
)",
         "check FILE m=8 k=16 n=4 --reference"},
    },
};

}  // namespace

void AddValueRules(std::vector<Rule>& rules) {
  rules.insert(rules.end(), std::begin(kValueRules), std::end(kValueRules));
}

}  // namespace kiln
