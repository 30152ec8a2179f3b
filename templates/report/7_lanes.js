// The pipeline by core: copies in, compute, copies out, over simulated time.

const gutter = 62;
const laneHeight = 26;
const laneGap = 4;
const axisHeight = 20;
const laneNames = ["copy in", "compute", "copy out"];
const entryParts = ["wait", "mxu", "vpu", "overhead"];

const endOfTime = () => Math.max(...timeline.cores.map((core) => {
  const last = core.copies.reduce((end, copies) => Math.max(end, copies.end.at(-1) ?? 0), 0);
  return Math.max(core.totals.seconds, last);
}));

// Times of an entry's parts; what is left of it is overhead.
function partsOf(core, entry) {
  const parts = {wait: core.wait[entry], mxu: core.mxu[entry], vpu: core.vpu[entry]};
  parts.overhead = Math.max(0, core.end[entry] - core.begin[entry] - parts.wait - parts.mxu - parts.vpu);
  return parts;
}

// ---- drawing ----

function sizedContext(canvas, width, height) {
  const ratio = Math.min(devicePixelRatio || 1, 3);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

function paletteNow() {
  const colors = {ink: colorOf("--ink"), mute: colorOf("--mute"), line: colorOf("--line"),
                  card: colorOf("--card"), on: colorOf("--on-color"), empty: colorOf("--empty")};
  for (const part of entryParts) colors[part] = colorOf("--" + part);
  colors.operands = timeline.operands.map((operand) => colorOf(hueOf(operand)));
  return colors;
}

// Parts of a pixel's time, one above the other.
function drawShares(context, colors, x, width, y, height, parts, whole) {
  let top = y + height;
  for (const name of entryParts) {
    const part = height * Math.min(1, parts[name] / whole);
    if (part <= 0) continue;
    context.fillStyle = colors[name];
    context.fillRect(x, top - part, width, part);
    top -= part;
  }
}

// Adds up the parts of entries by pixel: more entries than pixels are shown as shares of each.
class PixelShares {
  constructor(toPixel, paint) {
    Object.assign(this, {toPixel, paint, at: null, sums: null, whole: 0});
  }
  add(begin, end, parts) {
    const pixel = Math.floor(this.toPixel(begin));
    if (pixel !== this.at) this.flush(pixel);
    for (const name of entryParts) this.sums[name] += parts[name];
    this.whole += end - begin;
    this.until = this.toPixel(end);
  }
  flush(pixel = null) {
    if (this.at !== null && this.whole > 0)
      this.paint(this.at, Math.max(1, Math.ceil(this.until) - this.at), this.sums, this.whole);
    this.at = pixel;
    this.sums = {wait: 0, mxu: 0, vpu: 0, overhead: 0};
    this.whole = 0;
  }
}

function label(context, colors, text, x, width, y) {
  if (width < 16 || context.measureText(text).width > width - 6) return;
  context.fillStyle = colors.on;
  context.fillText(text, x + 4, y);
}

// One entry: its parts one after the other, as long as they take.
function drawEntry(context, colors, view, core, entry, y) {
  const parts = partsOf(core, entry);
  let at = core.begin[entry];
  for (const name of entryParts) {
    const x = view.toPixel(at);
    at += parts[name];
    const width = view.toPixel(at) - x;
    if (width <= 0) continue;
    context.fillStyle = colors[name];
    context.globalAlpha = name === "wait" ? 0.75 : 1;
    context.fillRect(x, y, width, laneHeight);
    context.globalAlpha = 1;
  }
  const begin = view.toPixel(core.begin[entry] + core.wait[entry]);
  context.fillStyle = colors.card;
  context.fillRect(view.toPixel(core.begin[entry]) - 0.5, y, 1, laneHeight);
  label(context, colors, pointText(core.point[entry]), begin,
        view.toPixel(core.end[entry]) - begin, y + laneHeight / 2);
}

function drawCompute(context, colors, view, core, y) {
  const first = Math.max(0, lastAtMost(core.begin, view.from));
  const last = lastAtMost(core.begin, view.to);
  if (!inRanges && last - first < view.width / 3) {
    for (let entry = first; entry <= last; ++entry) drawEntry(context, colors, view, core, entry, y);
    return;
  }
  const shares = new PixelShares(view.toPixel, (x, width, parts, whole) =>
      drawShares(context, colors, x, width, y, laneHeight, parts, whole));
  for (let entry = first; entry <= last; ++entry)
    shares.add(core.begin[entry], core.end[entry], partsOf(core, entry));
  shares.flush();
}

function drawCopies(context, colors, view, core, out, laneTop) {
  const shown = core.copies.filter((copies) => copies.out === out);
  shown.forEach((copies, nth) => {
    // Copies of a range of steps alternate between operands: each has its share of the lane.
    const height = inRanges ? laneHeight / shown.length : laneHeight;
    const y = laneTop + (inRanges ? nth * height : 0);
    const operand = timeline.operands[copies.operand];
    const color = colors.operands[copies.operand];
    let drawn = -Infinity;  // up to this pixel
    for (let i = Math.max(0, lastAtMost(copies.end, view.from)); i < copies.begin.length; ++i) {
      if (copies.begin[i] > view.to) break;
      const x = Math.max(view.toPixel(copies.begin[i]), drawn);
      const end = view.toPixel(copies.end[i]);
      if (end < x) continue;
      context.fillStyle = color;
      const width = Math.max(end - x, 0.6);
      context.fillRect(x, y, width > 3 ? width - 1 : width, height);
      drawn = x + width;
      if (height > 12) label(context, colors, copyName(operand, copies, i), x, width, y + height / 2);
    }
  });
}

function copyName(operand, copies, i) {
  const count = copies.count?.[i] ?? 1;
  if (count > 1) return `${operand.name} × ${count}`;
  return operand.name + (operand.counts.some((n) => n > 1)
      ? " " + indexText(positionsOf(copies.block[i], operand.counts)) : "");
}

function niceStep(span, count) {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
}

function drawAxis(context, colors, view, height) {
  const step = niceStep(view.to - view.from, Math.max(2, view.width / 110));
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = view.toPixel(t);
    context.fillStyle = colors.line;
    context.fillRect(x, axisHeight - 4, 1, height - axisHeight + 4);
    context.fillStyle = colors.mute;
    const text = timeText(Math.abs(t) < step / 2 ? 0 : t);
    if (x + 3 + context.measureText(text).width < gutter + view.width) context.fillText(text, x + 3, 8);
  }
}

function drawCursor(context, colors, view, core, y) {
  const entry = entryOn(core);
  if (entry < 0) return;
  const x = view.toPixel(core.begin[entry]);
  const width = Math.max(2, view.toPixel(core.end[entry]) - x);
  context.strokeStyle = colors.ink;
  context.lineWidth = 2;
  context.strokeRect(x, y - 2, width, 3 * laneHeight + 2 * laneGap + 4);
}

// ---- what is under a pointer ----

function intervalAt(core, lane, t) {
  if (lane === 1) {
    const entry = lastAtMost(core.begin, t);
    return entry >= 0 && t <= core.end[entry] ? {entry, lines: entryLines(core, entry)} : null;
  }
  for (const copies of core.copies) {
    if (copies.out !== (lane === 2)) continue;
    const i = lastAtMost(copies.begin, t);
    if (i < 0 || t > copies.end[i]) continue;
    const operand = timeline.operands[copies.operand];
    return {entry: copies.entry[i], line: operand.line,
            lines: [copyName(operand, copies, i) + (copies.out ? " goes out" : " comes in"),
                    `${bytesText(copies.bytes[i])} in ${timeText(copies.busy[i])}`,
                    (copies.out ? "written by " : "for ") +
                        entryName(core, copies.entry[i]).toLowerCase()]};
  }
  return null;
}

function entryLines(core, entry) {
  const parts = partsOf(core, entry);
  const length = core.end[entry] - core.begin[entry];
  return [`${entryName(core, entry)} ${pointText(core.point[entry])}`,
          `${timeText(length)} from ${timeText(core.begin[entry])}`,
          ...entryParts.filter((name) => parts[name] > length / 1000)
              .map((name) => `${timeText(parts[name])} ${partNames[name]}`)];
}

// ---- the overview, with a window on the part below it ----

function drawOverview(canvas, view, whole) {
  const width = canvas.clientWidth;
  const row = timeline.cores.length > 2 ? 12 : 20;
  const height = timeline.cores.length * (row + 2);
  const context = sizedContext(canvas, width, height);
  const colors = paletteNow();
  const toPixel = (t) => gutter + t / whole * (width - gutter);
  timeline.cores.forEach((core, c) => {
    const y = c * (row + 2);
    context.fillStyle = colors.mute;
    context.fillText(timeline.cores.length > 1 ? `core ${c}` : "whole run", 0, y + row / 2);
    const shares = new PixelShares(toPixel, (x, wide, parts, sum) =>
        drawShares(context, colors, x, wide, y, row, parts, sum));
    const segments = core.segments;
    for (let s = 0; segments && s < segments.count; ++s) {
      const parts = {wait: segments.wait[s], mxu: segments.mxu[s], vpu: segments.vpu[s]};
      parts.overhead = Math.max(0, segments.length[s] - parts.wait - parts.mxu - parts.vpu);
      shares.add(segments.begin[s], segments.begin[s] + segments.length[s], parts);
    }
    for (let e = 0; !segments && e < core.entries; ++e)
      shares.add(core.begin[e], core.end[e], partsOf(core, e));
    shares.flush();
  });
  const from = toPixel(view.from);
  const to = Math.max(toPixel(view.to), from + 3);
  context.globalAlpha = 0.6;
  context.fillStyle = colors.card;
  context.fillRect(gutter, 0, from - gutter, height);
  context.fillRect(to, 0, width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = colors.ink;
  context.lineWidth = 1.5;
  context.strokeRect(from, 0.75, Math.min(to, width - 1) - from, height - 1.5);
}
