// Arrays in blocks, a cell a block (or, where there are too many, a few blocks).

const cellsOf = (side) => Math.ceil(side.positions / side.scale);

// The places of cells: matrices of the last two dimensions, wrapped panels of those before them; a
// single dimension wraps like text.
function layoutOf(counts, width) {
  const rows = counts.length > 1 ? counts[counts.length - 2] : 1;
  const columns = counts.length > 0 ? counts[counts.length - 1] : 1;
  const panels = counts.slice(0, -2).reduce((product, count) => product * count, 1);
  // Rather parts of a pixel than a picture that does not fit.
  const least = counts.length === 1 ? 3 : Math.max(1, Math.min(3, width / columns, 300 / rows));
  for (let cell = 20; ; cell = Math.max(least, cell - 1)) {
    const gap = panels > 1 ? Math.max(6, cell) : 0;
    const wrap = counts.length === 1 ? Math.min(columns, Math.floor(width / cell)) : columns;
    const panelRows = counts.length === 1 ? Math.ceil(columns / wrap) : rows;
    const across = Math.max(1, Math.min(panels, Math.floor((width + gap) / (wrap * cell + gap))));
    const down = Math.ceil(panels / across);
    const layout = {cell, gap, wrap, panelRows, across,
                    width: across * (wrap * cell + gap) - gap,
                    height: down * (panelRows * cell + gap) - gap};
    if ((layout.width <= width && layout.height <= 260) || cell <= least) return layout;
  }
}

function originOf(layout, panel) {
  return {x: (panel % layout.across) * (layout.wrap * layout.cell + layout.gap),
          y: Math.floor(panel / layout.across) * (layout.panelRows * layout.cell + layout.gap)};
}

// The rectangles of a box of cells, [low, high] by dimension.
function rectanglesOf(layout, counts, box) {
  const {cell, wrap} = layout;
  const rectangle = (panel, row, column, endRow, endColumn) => {
    const origin = originOf(layout, panel);
    return {x: origin.x + column * cell, y: origin.y + row * cell,
            width: (endColumn - column + 1) * cell, height: (endRow - row + 1) * cell};
  };
  if (counts.length === 0) return [rectangle(0, 0, 0, 0, 0)];
  const [low, high] = box[box.length - 1];
  if (counts.length === 1) {
    const list = [];
    for (let row = Math.floor(low / wrap); row <= Math.floor(high / wrap); ++row) {
      const start = Math.max(low, row * wrap);
      const end = Math.min(high, row * wrap + wrap - 1);
      list.push(rectangle(0, row, start - row * wrap, row, end - row * wrap));
    }
    return list;
  }
  const [top, bottom] = box[box.length - 2];
  let panels = [0];
  for (let d = 0; d < box.length - 2; ++d) {
    panels = panels.flatMap((panel) => {
      const all = [];
      for (let at = box[d][0]; at <= box[d][1] && all.length < 64; ++at)
        all.push(panel * counts[d] + at);
      return all;
    });
  }
  return panels.slice(0, 64).map((panel) => rectangle(panel, top, low, bottom, high));
}

function cellAt(layout, counts, x, y) {
  const {cell, gap, wrap, panelRows, across} = layout;
  const panelWidth = wrap * cell + gap;
  const panelHeight = panelRows * cell + gap;
  const column = Math.floor((x % panelWidth) / cell);
  const row = Math.floor((y % panelHeight) / cell);
  if (column < 0 || row < 0 || column >= wrap || row >= panelRows) return -1;
  const panel = Math.floor(y / panelHeight) * across + Math.floor(x / panelWidth);
  const at = (panel * panelRows + row) * wrap + column;
  return at < counts.reduce((product, count) => product * count, 1) ? at : -1;
}

function paintHatch(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y + size);
  context.lineTo(x + size, y);
  context.stroke();
}

// paint(cell) gives {color, alpha, hatch}.
function paintCells(canvas, layout, counts, paint) {
  const ratio = Math.min(devicePixelRatio || 1, 3);
  canvas.width = Math.ceil(layout.width * ratio);
  canvas.height = Math.ceil(layout.height * ratio);
  canvas.style.width = layout.width + "px";
  canvas.style.height = layout.height + "px";
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const line = layout.cell >= 5 ? 1 : 0;
  context.strokeStyle = colorOf("--hatch");
  context.lineWidth = 1;
  const empty = colorOf("--empty");
  const count = counts.reduce((product, count) => product * count, 1);
  for (let at = 0; at < count; ++at) {
    const {color, alpha, hatch} = paint(at);
    const column = at % layout.wrap;
    const row = Math.floor(at / layout.wrap);
    const origin = originOf(layout, Math.floor(row / layout.panelRows));
    const x = origin.x + column * layout.cell;
    const y = origin.y + (row % layout.panelRows) * layout.cell;
    // On whole pixels, so that no seams show between cells of parts of one.
    const snap = (at) => Math.round(at * ratio) / ratio;
    const left = snap(x);
    const top = snap(y);
    const width = snap(x + layout.cell) - left - line;
    const height = snap(y + layout.cell) - top - line;
    context.globalAlpha = 1;
    context.fillStyle = empty;
    context.fillRect(left, top, width, height);
    context.globalAlpha = alpha;
    context.fillStyle = color;
    context.fillRect(left, top, width, height);
    context.globalAlpha = 1;
    if (hatch && layout.cell >= 5) paintHatch(context, left, top, width);
  }
}

// ---- what a picture's cells look like, and what they say ----

function operandPainter(picture) {
  const operand = picture.operand >= 0 ? timeline.operands[picture.operand] : null;
  const color = colorOf(operand ? hueOf(operand) : "--mxu");
  const most = picture.copies.reduce((a, b) => Math.max(a, b), 1);
  return (at) => {
    const copies = picture.copies[at];
    const computed = picture.computed[at] > 0;
    const heat = most === 1 ? 0.75 : 0.4 + 0.6 * Math.log(copies) / Math.log(most);
    return {color, alpha: copies === 0 ? 0 : computed ? heat : 0.22,
            hatch: !computed && !(isPart && copies === 0)};
  };
}

// A step without a dot in a kernel with one only clears, or finishes.
const computes = (work) => (timeline.product ? work.flops > 0 : !work.skipped);

const isWritten = (picture) =>
    picture.operand >= 0 && timeline.operands[picture.operand].kind === "output";

function verdict(picture) {
  const cells = picture.copies.length;
  const copied = picture.copies.filter((count) => count > 0).length;
  const computed = picture.computed.filter((count) => count > 0).length;
  const blocks = picture.sides.some((side) => side.scale > 1) ? "cells" : "blocks";
  const all = picture.copies.reduce((sum, count) => sum + count, 0);
  if (picture.operand < 0) {
    return `${countText(computed)} of ${countText(cells)} computed` +
        (isPart ? " by the first steps"
                : computed < cells ? `, ${countText(cells - computed)} skipped` : "");
  }
  const verb = isWritten(picture) ? "written" : "copied";
  const idle = copied - computed;
  const among = isPart ? " by the first steps" : "";
  return (copied === cells ? (cells === 1 ? `one block, ${verb}` : `all ${countText(cells)} ${blocks} ${verb}`)
                           : `${countText(copied)} of ${countText(cells)} ${blocks} ${verb}`) +
      (copied > 0 && all > copied ? `, ${digits(all / copied, 2)} times each` : "") +
      (idle > 0 && computed < copied ? `; ${countText(idle)} with nothing computed` : "") + among;
}

function elementsText(dim, position) {
  const start = dim.origin + position * dim.pitch;
  const low = Math.max(0, start);
  const high = Math.min(dim.extent, start + dim.size) - 1;
  return low === high ? String(low) : low + "–" + high;
}

function cellLines(picture, at) {
  const positions = positionsOf(at, picture.sides.map(cellsOf));
  const copies = picture.copies[at];
  const computed = picture.computed[at];
  const steps = computed ? `computed by ${plural(computed, "step")}` : "nothing is computed with it";
  if (picture.operand < 0) {
    return [picture.sides.map((side, s) => `${side.name} block ${positions[s]}`).join(", "),
            computed ? steps : isPart ? "none of the first steps combines these"
                                      : "skipped: no step combines these"];
  }
  const verb = isWritten(picture) ? "written" : "copied";
  const lines = [`${picture.title} block ${indexText(positions)}`];
  if (picture.sides.every((side) => side.scale === 1)) {
    const dims = timeline.operands[picture.operand].dims;
    const elements = picture.sides.map((side, s) =>
        `${side.name}: ${elementsText(dims[side.dim], positions[s])}`);
    if (elements.length) lines.push("elements " + elements.join(", "));
  } else {
    lines.push("some blocks together");
  }
  lines.push(copies ? `${verb} ${copies === 1 ? "once" : countText(copies) + " times"}, ${steps}`
                    : isPart ? `not ${verb} by the first steps` : `skipped: never ${verb}`);
  return lines;
}

// The cells in use at an entry, [low, high] by side, or null.
function cellBox(picture, core, entry, find = boxInPlace) {
  const box = [];
  for (const side of picture.sides) {
    const of = find(core, timeline.operands[side.operand], entry);
    if (!of) return null;
    box.push(of[side.dim].map((position) => Math.floor(position / side.scale)));
  }
  if (picture.sides.length === 0 && picture.operand >= 0)
    return find(core, timeline.operands[picture.operand], entry) && box;
  return box;
}

// "128 × 128 elements"
function elementsOfCell(picture) {
  const sizes = picture.sides.map((side) => timeline.operands[side.operand].dims[side.dim].size);
  return sizes.map(countText).join(" × ") + " elements";
}

const boxHas = (box, positions) =>
    box !== null && box.every(([low, high], d) => low <= positions[d] && positions[d] <= high);

// To the first step that uses a cell, the reader's core first.
function moveToCell(boxOf, positions) {
  const cores = [...timeline.cores.slice(cursor.core), ...timeline.cores.slice(0, cursor.core)];
  for (const core of cores) {
    for (let entry = 0; entry < core.entries; ++entry) {
      if (boxHas(boxOf(core, entry), positions)) return moveTo(entry, core.index);
    }
  }
}

// "m ↓ 16, n → 8": which way a dimension runs, and how many blocks it has.
function sidesText(sides) {
  const arrows = sides.map((_, s) => ["→", "↓"][sides.length - 1 - s] ?? "▦");
  return sides.map((side, s) => `${side.name} ${arrows[s]} ${countText(side.positions)}`).join(", ");
}

// A figure: title, note, sides, cells, and frames around what is in use.
function cellFigure({id, title, note, sides, painter, lines, boxOf, arriving, line, hue}) {
  const counts = sides.map(cellsOf);
  const canvas = el("canvas", {role: "img", "aria-label": `${title}: ${note}`});
  const frames = el("div", {class: "frames", "aria-hidden": "true"});
  const field = el("div", {class: "field"}, canvas, frames);
  const scroll = el("div", {class: "scroll"}, field);
  const figure = el("figure", {class: "picture", "data-picture": id},
      el("figcaption", {}, el("b", {}, hue ? swatch(hue) : null, title), " ",
         el("span", {class: "sides"}, sidesText(sides)), el("small", {}, note)), scroll);
  let layout = null;

  // A frame around a box, with the cores that are at it.
  const frame = (className, box, cores) => {
    const pad = layout.cell >= 8 ? 1 : 2;
    for (const {x, y, width, height} of rectanglesOf(layout, counts, box)) {
      const made = el("div", {class: className, "data-block": box.length ? boxText(box) : "0",
          "data-cores": cores.join(" "), style: `left:${x - pad}px;top:${y - pad}px;` +
              `width:${width + 2 * pad - 1}px;height:${height + 2 * pad - 1}px`});
      if (timeline.cores.length > 1 && className === "now" && layout.cell >= 14)
        made.textContent = cores.length < 3 ? cores.join(" ") : "";
      frames.append(made);
    }
  };
  const framesOf = (className, find) => {
    const cores = new Map();  // by box
    for (const core of timeline.cores) {
      const entry = entryOn(core);
      const box = entry < 0 ? null : find(core, entry);
      if (!box) continue;
      const key = String(box);
      if (!cores.has(key)) cores.set(key, {box, at: []});
      cores.get(key).at.push(core.index);
    }
    for (const {box, at} of cores.values()) frame(className, box, at);
  };
  const update = () => {
    if (!layout || !boxOf) return;
    frames.replaceChildren();
    if (arriving) framesOf("coming", arriving);
    framesOf("now", boxOf);
  };
  const draw = () => {
    const width = Math.floor(scroll.clientWidth) - 6;
    if (width < 20) return;
    layout = layoutOf(counts, width);
    paintCells(canvas, layout, counts, painter());
    update();
  };
  new ResizeObserver(draw).observe(scroll);
  themeListeners.push(draw);
  if (boxOf) onCursor(update);

  const cellOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return cellAt(layout, counts, event.clientX - box.left, event.clientY - box.top);
  };
  field.addEventListener("pointermove", (event) => {
    const at = cellOf(event);
    if (at < 0) hideTooltip();
    else showTooltip(event, lines(at));
  });
  field.addEventListener("pointerleave", hideTooltip);
  if (boxOf) {
    field.addEventListener("click", (event) => {
      const at = cellOf(event);
      if (at >= 0) moveToCell(boxOf, positionsOf(at, counts));
    });
  }
  if (line) pointAtLine(figure, line);
  return figure;
}

function pictureFigure(picture, id) {
  const operand = picture.operand >= 0 ? timeline.operands[picture.operand] : null;
  return cellFigure({
    id, title: operand ? picture.title : "Computed: " + picture.title, note: verdict(picture),
    sides: picture.sides, painter: () => operandPainter(picture),
    lines: (at) => cellLines(picture, at), line: operand?.line,
    hue: operand ? hueOf(operand) : "var(--mxu)",
    boxOf: (core, entry) => cellBox(picture, core, entry),
    arriving: operand ? (core, entry) => cellBox(picture, core, entry, arrivingBox) : null,
  });
}

// The picture that shows what is skipped, next to the headline.
function coverageFigure(picture) {
  const computed = picture.computed.filter((steps) => steps > 0).length;
  const skipped = picture.computed.length - computed;
  const figure = cellFigure({
    id: "coverage", title: "Computed", sides: picture.sides,
    note: `a cell is a block of ${elementsOfCell(picture)}`,
    painter: () => (at) => picture.computed[at] > 0
        ? {color: colorOf("--mxu"), alpha: 1, hatch: false} : {color: "#000", alpha: 0, hatch: true},
    lines: (at) => cellLines(picture, at),
  });
  figure.classList.add("coverage");
  figure.append(el("ul", {class: "legend"},
      el("li", {}, swatch("var(--mxu)"), `${countText(computed)} computed`),
      el("li", {}, swatch("var(--empty)", "hatched"), `${countText(skipped)} skipped`)));
  return figure;
}
