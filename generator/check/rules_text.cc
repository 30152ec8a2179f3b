// The rules about what a spec file says, what a call passes, and what a TPU accepts.
#include "generator/check/rules.h"

namespace kiln {
namespace {

const Rule kTextRules[] = {
    {
        "syntax",
        "a value does not follow Kiln's grammar",
        R"(Index maps, steps, array types, conditions and bodies are text in Kiln's own grammar, a small part of
Python's: indented statements, expressions, `#` comments. Tabs are refused. A few things that read
differently from what they do are refused too: `a < b & c < d` without parentheses, and a reduction with
a second positional argument (`sum(x, 1)`; write `sum(x, axis=1)`).

There is no `if` statement and no `while`: it is `when c:` with `else:`, and `for r in range(a, b):`.)",
        R"(A spec holds what a Pallas kernel's body may do with blocks, and no more, so that every engine (the
interpreter, the emulated and the native kernel) and a reader can say what it computes.)",
        {R"(kernel: clipped
grid:
  i: cdiv(n, 128)
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = where(x > -1 & x < 1, x, 0)
)",
         "check FILE"},
        {R"(kernel: clipped
grid:
  i: cdiv(n, 128)
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = where((x > -1) & (x < 1), x, 0)
)",
         "check FILE"},
    },

    {
        "yaml-split",
        "YAML cut a value at a comma or a bracket",
        R"--(Inside `{ }` and `[ ]` YAML ends a value at the comma: `{i: cdiv(m, b)}` reaches Kiln as the entry
`i: cdiv(m` and a key `b)`. An entry with unbalanced brackets, a key with a `)`, or a bracket inside a flow
list is therefore reported as what it is.

Quote the value, `{i: "cdiv(m, b)"}`, or write it in block style, where nothing needs quotes.)--",
        R"(Nothing to do with TPUs: it is the one place where YAML and index expressions conflict, and the
error of a YAML reader would name a character instead of the cause.)",
        {R"(kernel: doubled
grid: {i: cdiv(n, 128)}
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = x * 2
)",
         "check FILE"},
        {R"(kernel: doubled
grid:
  i: cdiv(n, 128)
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = x * 2
)",
         "check FILE"},
    },

    {
        "key",
        "a key is unknown, missing, given twice or does not apply",
        R"(A spec has the keys of the reference and no others; each stands once, with a value of the right form.
`pad` is for inputs, `init` and `alias` for outputs, `epilogue` assigns outputs. `dimension_semantics` has
one word for each axis of the grid, and parallel axes come first. Anchors, aliases, merges, tags and
second documents are not part of the language: `params` and `let` name what is shared.

`--set` of something that is no parameter is this rule too.)",
        R"(A misspelt option that is ignored is a kernel that runs with a default. Pallas requires parallel axes to
come first as well; its interpret mode does not check it.)",
        {R"(kernel: doubled
grid:
  i: cdiv(n, 128)
dimension_semantic: parallel
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = x * 2
)",
         "check FILE"},
        {R"(kernel: doubled
grid:
  i: cdiv(n, 128)
dimension_semantics: parallel
inputs:
  x: {array: "f32[n]", block: 128, index: i}
outputs:
  o: {array: "f32[n]", block: 128, index: i}
body: |
  o = x * 2
)",
         "check FILE"},
    },

    {
        "name",
        "a name is unknown, taken, or out of place",
        R"(Params, dimensions, axes, scalars, prefetch arrays, operands, scratch and lets share one namespace; a
clash is an error that shows both. Functions are looked up only before `(`, so an output may be called
`mean`. A block's names end with its indentation, and redeclaring a visible name is an error. Names
are identifiers and neither words of C++ nor macros of its headers, since they become part of it.

Each place sees what is known there: shapes know sizes, steps know scalars and prefetch arrays as well,
index maps the axes too, and the body everything. An operand whose `if` does not hold is absent: its uses
must stand under the same condition.)",
        R"(A dimension is declared by standing alone in an operand's shape, so that a typo could declare one. Kiln
warns about a dimension that is used once and nowhere else, and a list under `dims` closes the set.)",
        {R"(kernel: scaled
params: {b: 128}
grid:
  i: cdiv(n, b)
inputs:
  x: {array: "f32[n]", block: b, index: i}
outputs:
  o: {array: "f32[n]", block: b, index: i}
body: |
  let scale = 2.0
  o = x * scal
)",
         "check FILE"},
        {R"(kernel: scaled
params: {b: 128}
grid:
  i: cdiv(n, b)
inputs:
  x: {array: "f32[n]", block: b, index: i}
outputs:
  o: {array: "f32[n]", block: b, index: i}
body: |
  let scale = 2.0
  o = x * scale
)",
         "check FILE"},
    },

    {
        "call",
        "the arguments of a call do not fit the spec",
        R"(Checked at every call: ranks, dtypes and extents of the arrays (a dimension has one value everywhere it
occurs), the constraints under `dims`, the conditions under `require`, sizes that are negative or
overflow, and for compiled kernels strides, alignment, overlapping memory and null pointers. A refused
call returns a status with a message; it never crashes, and it has written nothing.)",
        R"(JAX checks shapes when it traces. What a kernel assumes beyond that, such as group sizes that add up or
a k that is a multiple of 128, is checked by nobody on a TPU: say it with `require` or `dims`.)",
        {R"(kernel: halves
params: {b: 8}
require:
  - m % (2 * b) == 0
grid:
  i: m // (2 * b)
inputs:
  low:
    array: f32[m]
    block: b
    index: i
  high:
    view: low
    index: i + m // (2 * b)
outputs:
  o:
    array: f32[m // 2]
    block: b
    index: i
body: |
  o = low + high
)",
         "check FILE m=40"},
        {R"(kernel: halves
params: {b: 8}
require:
  - m % (2 * b) == 0
grid:
  i: m // (2 * b)
inputs:
  low:
    array: f32[m]
    block: b
    index: i
  high:
    view: low
    index: i + m // (2 * b)
outputs:
  o:
    array: f32[m // 2]
    block: b
    index: i
body: |
  o = low + high
)",
         "run FILE low=random:1 m=48"},
    },

    {
        "tpu",
        "a real TPU refuses this",
        R"(With `--tpu`, what Pallas' TPU lowering refuses although the language allows it. It is off by default:
on a CPU these limits mean nothing.

- Blocks of rank 2 and more: each of the last two dimensions is a multiple of 8 and of 128 respectively, or
  equal to the array's own. A squeezed dimension (`null`) counts as 1. The rule is the same for every dtype;
  a block of 8 rows of bf16 is accepted, but fills half of each (16, 128) tile, which is a warning.
- Blocks of rank 1: the whole array, a multiple of 1024, or a power of two from `128 * 32 / bits` on: 128
  for f32, 256 for bf16, 512 for i8.
- Blocks of rank 0; `bounded` blocks; `element` mixed with block sizes; `buffers` beyond 2.
- Reads of more than a single element from SMEM (prefetch arrays, `memory: smem`), and stores of more than
  that into it; stores of a single element into VMEM. A store with a mask of elements that have not 32 bits
  is a warning: in Pallas it is a `where`.
- i64, f64 and f16. `max` and `min` of integers other than i32, and of elements of other than 32 bits to a
  scalar; sums of u32; `argmax` and `argmin` other than of f32 along one axis.
- `prod`, scans, sorts, `top_k`, `flip` and `take`.
- `expm1`, `sinh`, `cosh`, `asinh`, `acosh`, `atanh`, `asin`, `acos`, `atan`, `erfc` and `cbrt`: the hint has
  what other functions make of it.

Memory and functions are as JAX 0.10.2 has them, which lowers a kernel for a TPU where there is none: a test
holds one against the other.

Each diagnostic names the nearest legal shape, or what to write instead. Without sizes, a block is taken to
differ from a dimension that is only known at run time.)",
        R"(These are errors of the TPU lowering ("the last two dimensions of your block shape are divisible by 8 and
128 respectively"), which neither interpret mode raises: they appear when the kernel first runs on a TPU.)",
        {R"(kernel: doubled
grid:
  i: cdiv(m, 4)
  j: cdiv(n, 100)
inputs:
  x: {array: "f32[m, n]", block: "4, 100", index: "i, j"}
outputs:
  o: {array: "f32[m, n]", block: "4, 100", index: "i, j"}
body: |
  o = x * 2
)",
         "check FILE --tpu"},
        {R"(kernel: doubled
grid:
  i: cdiv(m, 8)
  j: cdiv(n, 128)
inputs:
  x: {array: "f32[m, n]", block: "8, 128", index: "i, j"}
outputs:
  o: {array: "f32[m, n]", block: "8, 128", index: "i, j"}
body: |
  o = x * 2
)",
         "check FILE --tpu"},
    },
};

}  // namespace

void AddTextRules(std::vector<Rule>& rules) {
  rules.insert(rules.end(), std::begin(kTextRules), std::end(kTextRules));
}

}  // namespace kiln
