// The data as the page works with it: columns unpacked, blocks in place by step.

// "5 1x3 -3" is 5 6 7 8 5: differences, and how often each repeats.
function unpackColumn(text) {
  const values = [];
  let value = 0;
  for (const word of text === "" ? [] : text.split(" ")) {
    const [difference, count] = word.split("x");
    for (let i = Number(count ?? 1); i > 0; --i) values.push((value += Number(difference)));
  }
  return values;
}

function unpackCopies(packed, tick) {
  const copies = {operand: packed.operand, out: packed.out, entry: unpackColumn(packed.entry)};
  copies.block = unpackColumn(packed.block);
  copies.bytes = unpackColumn(packed.bytes);
  copies.count = packed.count ? unpackColumn(packed.count) : null;
  const gap = unpackColumn(packed.gap);
  const length = unpackColumn(packed.length);
  const busy = packed.busy ? unpackColumn(packed.busy) : length;
  copies.begin = new Float64Array(gap.length);
  copies.end = new Float64Array(gap.length);
  copies.busy = Float64Array.from(busy, (t) => t * tick);
  let end = 0;
  for (let i = 0; i < gap.length; ++i) {
    copies.begin[i] = (end + gap[i]) * tick;
    end += gap[i] + length[i];
    copies.end[i] = end * tick;
  }
  return copies;
}

// Which block of each operand is in the core's memory at each entry: -1 none. An input's came with the last
// copy in, an output's leaves with the next copy out.
function blocksInPlace(core, operands) {
  const blocks = operands.map(() => new Int32Array(core.entries).fill(-1));
  for (const copies of core.copies) {
    const at = blocks[copies.operand];
    let next = 0;
    let block = -1;
    for (let e = 0; e < core.entries; ++e) {
      if (copies.out) {
        while (next < copies.entry.length && copies.entry[next] < e) ++next;
        block = next < copies.entry.length ? copies.block[next] : -1;
      } else {
        while (next < copies.entry.length && copies.entry[next] <= e) block = copies.block[next++];
      }
      if (copies.out || block >= 0) at[e] = block;
    }
  }
  return blocks;
}

function unpackCore(packed, index, timeline) {
  const seconds = (text) => Float64Array.from(unpackColumn(text), (t) => t * timeline.tick);
  const core = {index, entries: packed.entries, steps: packed.steps, detailed: packed.detailed,
                totals: packed.totals, point: unpackColumn(packed.point),
                work: unpackColumn(packed.work)};
  for (const name of ["begin", "wait", "mxu", "vpu", "end"]) core[name] = seconds(packed[name]);
  core.copies = packed.copies.map((copies) => unpackCopies(copies, timeline.tick));
  if (packed.boxes) core.boxes = packed.boxes.map((columns) => columns.map(unpackColumn));
  else core.blocks = blocksInPlace(core, timeline.operands);
  if (packed.segments) {
    core.segments = {count: packed.segments.count, step: unpackColumn(packed.segments.step)};
    for (const name of ["begin", "wait", "mxu", "vpu", "length", "dma"])
      core.segments[name] = seconds(packed.segments[name]);
  }
  return core;
}

// Positions by dimension, of a number that counts them row-major.
function positionsOf(number, counts) {
  const at = new Array(counts.length);
  for (let d = counts.length - 1; d >= 0; --d) {
    at[d] = number % counts[d];
    number = Math.floor(number / counts[d]);
  }
  return at;
}

function unpackTimeline(timeline) {
  if (!timeline) return null;
  timeline.operands.forEach((operand, i) => {
    operand.index = i;
    operand.counts = operand.dims.map((dim) => dim.positions);
  });
  // Hues go first to what is drawn, then to what is in VMEM.
  const rank = ({kind, smem}) => (kind === "input" || kind === "output" ? 0 : smem ? 2 : 1);
  const inOrder = [...timeline.operands].sort((a, b) => rank(a) - rank(b));
  inOrder.forEach((operand, i) => (operand.hue = i % 8));
  timeline.cores = timeline.cores.map((core, i) => unpackCore(core, i, timeline));
  for (const picture of timeline.pictures) {
    picture.title = picture.title.replaceAll(" × ", "\u00a0×\u00a0");
    picture.copies = unpackColumn(picture.copies);
    picture.computed = unpackColumn(picture.computed);
  }
  return timeline;
}

const data = JSON.parse(document.getElementById("data").textContent);
const timeline = unpackTimeline(data.timeline);

// The box of an operand's positions that are in place at an entry, [low, high] by dimension, or null.
function boxInPlace(core, operand, entry) {
  if (entry < 0 || entry >= core.entries) return null;
  if (core.boxes) {
    const columns = core.boxes[operand.index];
    const box = operand.counts.map((_, d) => [columns[2 * d][entry], columns[2 * d + 1][entry]]);
    return box.some(([low, high]) => low > high) ? null : box;
  }
  const block = core.blocks[operand.index][entry];
  return block < 0 ? null : positionsOf(block, operand.counts).map((at) => [at, at]);
}

// The last of sorted `values` that is not above `limit`, or -1.
function lastAtMost(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
