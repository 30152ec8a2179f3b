// The rules about the grid: which step touches which block, when, and in what memory.
#include "generator/check/rules.h"

namespace kiln {
namespace {

const Rule kGridRules[] = {
    {
        "revisit",
        "an output block is left and visited again",
        R"(The steps that visit one block of an output must follow each other (a *stay*). What the block held
is written back when the stay ends, and a later stay starts with an undefined block: partial sums are
lost.

So a reduction runs on the minor (last) axes of the grid, those that the output's index does not use,
and prefetched block lists are sorted by output block. A `pipeline` writes back all that it holds when it
ends, so that no stay of its outputs goes on in the next step of the grid outside. Decided from the spec
alone where the maps are plain, and for any map once sizes and prefetch arrays are given.)",
        R"(Pallas writes a block back when the next step's index differs and never reads it again: the second
visit accumulates onto whatever the VMEM buffer holds and overwrites the first. Interpret mode keeps the
array in place and shows the right answer. TPU interpret mode raises an error, but not for an aliased
output, where it is as silent as the chip.)",
        {R"(kernel: column_sums
params: {bm: 8, bn: 128}
grid:
  i: cdiv(m, bm)
  j: cdiv(n, bn)
inputs:
  x:
    array: f32[m, n]
    block: bm, bn
    index: i, j
    pad: 0
outputs:
  o:
    array: f32[1, n]
    block: 1, bn
    index: 0, j
body: |
  when first(i):
    o = 0
  o += sum(x, axis=0, keep=true)
)",
         "check FILE"},
        {R"(kernel: column_sums
params: {bm: 8, bn: 128}
grid:
  j: cdiv(n, bn)
  i: cdiv(m, bm)
inputs:
  x:
    array: f32[m, n]
    block: bm, bn
    index: i, j
    pad: 0
outputs:
  o:
    array: f32[1, n]
    block: 1, bn
    index: 0, j
body: |
  when first(i):
    o = 0
  o += sum(x, axis=0, keep=true)
)",
         "run FILE x=random:1 m=20 n=300"},
    },

    {
        "race",
        "steps of a parallel axis share a block that is written",
        R"(Steps that differ in a coordinate of a `parallel` axis may run at the same time on different cores, in
any order. None of them may write a block that another one reads or writes, through an alias either.

Decided from the spec alone when an output's index does not use a parallel axis, and for any map once
sizes and prefetch arrays are given. Use the axis in the output's index, or make it `arbitrary`. (Scratch
is no race: each core has its own, and it is undefined whenever the parallel coordinates change.))",
        R"(On a chip with two TensorCores (v4, v5p) Pallas splits the parallel axes over them, and both write the
block back: one of the results is lost, or they mix. On a chip with one core the kernel works, so the
mistake waits for other hardware. TPU interpret mode finds races only when asked to (`detect_races`).)",
        {R"(kernel: total
params: {b: 128}
grid:
  i: cdiv(n, b)
dimension_semantics: parallel
inputs:
  x:
    array: f32[n]
    block: b
    index: i
    pad: 0
outputs:
  o: f32[1]
body: |
  when first(i):
    o = 0
  o += sum(x)
)",
         "check FILE"},
        {R"(kernel: total
params: {b: 128}
grid:
  i: cdiv(n, b)
dimension_semantics: arbitrary
inputs:
  x:
    array: f32[n]
    block: b
    index: i
    pad: 0
outputs:
  o: f32[1]
body: |
  when first(i):
    o = 0
  o += sum(x)
)",
         "run FILE x=random:1 n=1000"},
    },

    {
        "alias",
        "an aliased input is read after its memory was written",
        R"(An output with `alias: x` takes over the memory of the input x. A block of the input that is copied in
at a step later than the first step that visits an output block sharing its bytes holds old or new
values, depending on how far the pipeline runs ahead: it is refused.

Read a block no later than the step that first visits it, as `index: i` on both does. An alias is not
an initial value: a visited output block starts undefined, and only blocks that *no step visits* keep
the input's values.)",
        R"(A TPU fetches the block of the next step while the current one computes, and writes back one or two
steps later, so what a late read sees changes with the pipeline's depth. Interpret mode reads the old
data, TPU interpret mode the new data, and hardware either.)",
        {R"(kernel: shifted
params: {b: 8}
grid:
  i: cdiv(n, b)
inputs:
  x:
    array: f32[n]
    block: b
    index: max(i - 1, 0)
outputs:
  o:
    array: f32[n]
    block: b
    index: i
    alias: x
body: |
  o = x * 2
)",
         "check FILE n=32"},
        {R"(kernel: shifted
params: {b: 8}
grid:
  i: cdiv(n, b)
inputs:
  x:
    array: f32[n]
    block: b
    index: max(i - 1, 0)
outputs:
  o:
    array: f32[n]
    block: b
    index: i
body: |
  o = x * 2
)",
         "run FILE x=random:1 n=32"},
    },

    {
        "index-range",
        "an index, a subscript or a slice is out of range",
        R"(A block index counts blocks: dimension d of an array of n elements in blocks of b has the indices 0 to
`cdiv(n, b) - 1`. Subscripts, slices and `ds(start, size)` stay within what they index, prefetch arrays
included; a slice may not reach past the end, and nothing wraps or clamps. A grid that has more steps
than the array has blocks, element offsets where block indices belong, and a prefetched value that is
too large are the usual causes. Overflow of an index expression (64 bits) is this rule as well.

With sizes, every index map is evaluated over the whole grid before anything runs, and so are subscripts
that depend only on axes, sizes, scalars and prefetch arrays; the rest is checked in every mode. Where
a grid has more points than can be tried in seconds, a warning says what is not checked.)",
        R"(A TPU does not check: the DMA reads or overwrites a neighbouring array, or the chip halts. Interpret
mode clamps the index silently, so element offsets in an index map pass with two blocks and fail with
three. It is the mistake that Pallas users report most.)",
        {R"(kernel: copy_blocks
params: {b: 8}
grid:
  i: cdiv(m, b)
inputs:
  x:
    array: f32[m, 128]
    block: b, all
    index: i * b, 0
outputs:
  o:
    array: f32[m, 128]
    block: b, all
    index: i, 0
body: |
  o = x
)",
         "check FILE m=32"},
        {R"(kernel: copy_blocks
params: {b: 8}
grid:
  i: cdiv(m, b)
inputs:
  x:
    array: f32[m, 128]
    block: b, all
    index: i, 0
outputs:
  o:
    array: f32[m, 128]
    block: b, all
    index: i, 0
body: |
  o = x
)",
         "run FILE x=random:1 m=32"},
    },

    {
        "tier",
        "something does not fit, or is not where it is used",
        R"(Blocks times their `buffers`, scratch, scalars and prefetch arrays must fit into VMEM and SMEM of the
machine. They are counted in native tiles: (8, 128) of 32-bit values, (16, 128) of 16-bit, (32, 128) of
8-bit, so that f32[8, 1] takes as much as f32[8, 128]. The message is a table of who uses what and the
largest block that fits. `--vmem` sets the budget.

An operand with `memory: any` stays in HBM: it is copied, never read or subscripted in an expression.)",
        R"(A kernel that needs too much VMEM fails when it is compiled for a TPU, with a number and no table. The
double buffering of each operand, which is easily forgotten, is half of it. A direct read of an
HBM reference is refused on a TPU and allowed by interpret mode.)",
        {R"(kernel: transposed
params: {b: 2048}
grid:
  i: cdiv(m, b)
  j: cdiv(n, b)
inputs:
  x:
    array: f32[m, n]
    block: b, b
    index: i, j
outputs:
  o:
    array: f32[n, m]
    block: b, b
    index: j, i
body: |
  o = x.T
)",
         "check FILE m=4096 n=4096"},
        {R"(kernel: transposed
params: {b: 512}
grid:
  i: cdiv(m, b)
  j: cdiv(n, b)
inputs:
  x:
    array: f32[m, n]
    block: b, b
    index: i, j
outputs:
  o:
    array: f32[n, m]
    block: b, b
    index: j, i
body: |
  o = x.T
)",
         "check FILE m=4096 n=4096"},
    },

    {
        "sync",
        "a copy and its semaphore do not match",
        R"(`copy a -> b, sem` starts a copy and returns; `wait sem` waits for the oldest unfinished copy on that
semaphore, and `wait sem, b[0:4]` for as many bytes as `b[0:4]` has, be it of several copies or of a
part of one. Until all of a copy has been waited for, its target must not be touched and its source must
not be written. Every copy is waited for before the kernel ends, and a wait that no copy will satisfy is
an error.

The interpreter moves the data at the wait, as late as it is allowed to, so a missing wait never happens
to work.)",
        R"(On a TPU a read before the wait sees old or half-written data, depending on how busy the memory is. A
semaphore that does not end at 0 breaks the next kernel that uses it, and a wait without a copy hangs
the chip.)",
        {R"(kernel: fetch_rows
inputs:
  x: {array: "f32[n, 128]", memory: any}
outputs:
  o: f32[8, 128]
scratch:
  buffer: f32[8, 128]
  sem: {semaphore: dma}
body: |
  copy x[0:8] -> buffer, sem
  o = buffer
  wait sem
)",
         "run FILE x=random:1 n=32"},
        {R"(kernel: fetch_rows
inputs:
  x: {array: "f32[n, 128]", memory: any}
outputs:
  o: f32[8, 128]
scratch:
  buffer: f32[8, 128]
  sem: {semaphore: dma}
body: |
  copy x[0:8] -> buffer, sem
  wait sem
  o = buffer
)",
         "run FILE x=random:1 n=32"},
    },
};

}  // namespace

void AddGridRules(std::vector<Rule>& rules) {
  rules.insert(rules.end(), std::begin(kGridRules), std::end(kGridRules));
}

}  // namespace kiln
