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

// ---- what lies under a pointer ----

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

// ---- moving about ----

class TimelineView {
  constructor(whole) {
    this.whole = whole;
    this.from = 0;
    this.to = whole;
    this.width = 1;
    this.toPixel = (t) => gutter + (t - this.from) / (this.to - this.from) * this.width;
    this.toTime = (x) => this.from + (x - gutter) / this.width * (this.to - this.from);
  }
  show(from, to) {
    const span = Math.min(Math.max(to - from, this.whole * 1e-7, 5e-9), this.whole);
    this.from = Math.max(0, Math.min(from, this.whole - span));
    this.to = this.from + span;
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  pan(share) {
    const span = this.to - this.from;
    this.show(this.from + share * span, this.to + share * span);
  }
  // The cursor's entry stays in sight, with some of what comes next.
  follow(begin, end) {
    const span = Math.max(this.to - this.from, (end - begin) * 1.2);
    if (begin >= this.from && end <= this.to) return false;
    this.show(begin - span * 0.2, begin + span * 0.8);
    return true;
  }
}

// Dragging pans, two fingers zoom, the wheel zooms where the reader has clicked before, or with Ctrl.
function addGestures(canvas, view, redraw, click) {
  const pointers = new Map();
  let moved = 0;
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return {distance: Math.max(20, Math.abs(a.x - b.x)), middle: (a.x + b.x) / 2};
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = pointers.size === 2 ? spread() : null;
    const from = pointers.get(event.pointerId);
    const to = place(event);
    pointers.set(event.pointerId, to);
    moved += Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
    if (before) {
      const after = spread();
      view.zoom(before.distance / after.distance, view.toTime(after.middle));
    } else {
      view.pan((from.x - to.x) / view.width);
    }
    redraw();
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && moved < 4 && event.type === "pointerup") click(place(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    if (sideways) view.pan((event.deltaX || event.deltaY) / view.width);
    else view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), view.toTime(place(event).x));
    redraw();
  }, {passive: false});
}

function timelineLegend() {
  const list = el("ul", {class: "legend"}, ...entryParts.map((part) =>
      el("li", {}, swatch(partColor(part), "part-" + part), partNames[part])));
  for (const operand of timeline.operands.filter((operand) => operand.copies > 0 && !operand.smem))
    list.append(el("li", {}, swatch(hueOf(operand)), operand.name));
  return list;
}

function timelineSection() {
  const view = new TimelineView(endOfTime());
  const coreHeight = 3 * (laneHeight + laneGap) + (timeline.cores.length > 1 ? 22 : 8);
  const height = axisHeight + timeline.cores.length * coreHeight;
  const canvas = el("canvas", {class: "lanes", tabindex: 0, role: "img",
      "aria-label": "Pipeline by core. Plus and minus zoom, the arrows step, 0 shows the whole run.",
      "aria-describedby": "announcer"});
  const overview = el("canvas", {class: "overview", "aria-hidden": "true"});
  const said = el("p", {class: "said"});

  const laneTop = (c, lane) => axisHeight + c * coreHeight + (timeline.cores.length > 1 ? 16 : 2) +
      lane * (laneHeight + laneGap);
  const draw = () => {
    if (canvas.clientWidth < 20) return;
    view.width = canvas.clientWidth - gutter;
    const context = sizedContext(canvas, canvas.clientWidth, height);
    const colors = paletteNow();
    drawAxis(context, colors, view, height);
    context.save();
    context.beginPath();
    context.rect(gutter - 1, 0, view.width + 1, height);
    context.clip();
    timeline.cores.forEach((core, c) => {
      drawCopies(context, colors, view, core, false, laneTop(c, 0));
      drawCompute(context, colors, view, core, laneTop(c, 1));
      drawCopies(context, colors, view, core, true, laneTop(c, 2));
      drawCursor(context, colors, view, core, laneTop(c, 0));
    });
    context.restore();
    context.fillStyle = colors.mute;
    timeline.cores.forEach((core, c) => {
      laneNames.forEach((name, lane) =>
          context.fillText(name, 0, laneTop(c, lane) + laneHeight / 2));
      if (timeline.cores.length > 1) context.fillText(`core ${c}`, 0, laneTop(c, 0) - 9);
    });
    drawOverview(overview, view, view.whole);
  };
  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };

  const find = ({x, y}) => {
    for (const core of timeline.cores) {
      for (let lane = 0; lane < 3; ++lane) {
        const top = laneTop(core.index, lane);
        if (x >= gutter && y >= top && y < top + laneHeight) {
          const found = intervalAt(core, lane, view.toTime(x));
          return found && {...found, core};
        }
      }
    }
    return null;
  };
  addGestures(canvas, view, redraw, (place) => {
    const found = find(place);
    if (found) moveTo(found.entry, found.core.index);
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const found = find({x: event.clientX - box.left, y: event.clientY - box.top});
    if (found) showTooltip(event, found.lines);
    else hideTooltip();
  });
  canvas.addEventListener("pointerleave", hideTooltip);
  const actions = {
    "+": () => view.zoom(0.5, middleOfCursor()), "=": () => view.zoom(0.5, middleOfCursor()),
    "-": () => view.zoom(2, middleOfCursor()), "0": () => view.show(0, view.whole),
  };
  const middleOfCursor = () => {
    const core = timeline.cores[cursor.core];
    return (core.begin[cursor.entry] + core.end[cursor.entry]) / 2;
  };
  canvas.addEventListener("keydown", (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
    redraw();
  });
  addOverviewGestures(overview, view, redraw);
  onCursor(() => {
    const core = timeline.cores[cursor.core];
    view.follow(core.begin[cursor.entry], core.end[cursor.entry]);
    said.textContent = entryLines(core, cursor.entry).join(" · ");
    redraw();
  });
  themeListeners.push(redraw);
  new ResizeObserver(redraw).observe(canvas);

  // At first some twenty steps, so that the pipeline can be seen; the overview has the whole run.
  const core = slowestCore();
  if (core.entries > 0) view.show(0, core.end[Math.min(core.entries, innerWidth < 700 ? 8 : 20) - 1]);
  canvas.style.height = height + "px";
  const button = (name, text, action) => el("button", {type: "button", "aria-label": name, title: name,
      onclick: () => { action(); redraw(); }}, text);
  return el("section", {class: "card", "aria-labelledby": "timeline"},
      el("div", {class: "title"}, el("h2", {id: "timeline"}, "Pipeline"),
         el("div", {class: "buttons"}, button("Zoom in", "+", actions["+"]),
            button("Zoom out", "−", actions["-"]), button("Whole run", "whole run", actions["0"]))),
      el("p", {class: "note"}, "While a step computes, the blocks of the next one come in and the last " +
         "results go out. Drag to move, pinch or Ctrl + wheel to zoom; click an interval to go to its step."),
      overview, canvas, said, timelineLegend());
}

function addOverviewGestures(overview, view, redraw) {
  const moveView = (event) => {
    const box = overview.getBoundingClientRect();
    const t = (event.clientX - box.left - gutter) / (box.width - gutter) * view.whole;
    const span = view.to - view.from;
    view.show(t - span / 2, t + span / 2);
    redraw();
  };
  overview.addEventListener("pointerdown", (event) => {
    overview.setPointerCapture(event.pointerId);
    moveView(event);
  });
  overview.addEventListener("pointermove", (event) => {
    if (overview.hasPointerCapture(event.pointerId)) moveView(event);
  });
}
