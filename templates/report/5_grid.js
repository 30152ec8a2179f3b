// The grid: a cell a step, in the colour of what it spends most of its time on.

function partOfEntry(core, entry) {
  const length = core.end[entry] - core.begin[entry];
  const parts = {wait: core.wait[entry], mxu: core.mxu[entry], vpu: core.vpu[entry]};
  parts.overhead = Math.max(0, length - parts.wait - parts.mxu - parts.vpu);
  return Object.keys(parts).reduce((a, b) => (parts[b] > parts[a] ? b : a));
}

function gridFigure() {
  const sides = timeline.axes.filter((axis) => axis.steps > 1)
      .map((axis) => ({name: axis.name, positions: axis.steps, scale: 1}));
  // Panels of more than two dimensions take more room.
  const most = sides.length > 2 ? 8192 : 65536;
  while (sides.reduce((product, side) => product * cellsOf(side), 1) > most)
    sides.reduce((a, b) => (cellsOf(b) > cellsOf(a) ? b : a)).scale *= 2;
  const axes = timeline.axes.map((axis) => axis.steps);
  const counts = sides.map(cellsOf);
  const cellsOfPoint = (point) => {
    const at = positionsOf(point, axes).filter((_, a) => axes[a] > 1);
    return at.map((position, s) => Math.floor(position / sides[s].scale));
  };
  const number = (cells) => cells.reduce((sum, cell, s) => sum * counts[s] + cell, 0);

  const seen = new Map();  // cell -> {core, entry}
  let longest = 0;
  for (const core of timeline.cores) {
    for (let entry = 0; entry < core.entries; ++entry) {
      const first = core.point[entry];
      for (let s = 0; s < timeline.steps_per_entry; ++s) {
        const cell = number(cellsOfPoint(first + s));
        if (!seen.has(cell)) seen.set(cell, {core, entry});
      }
      longest = Math.max(longest, core.end[entry] - core.begin[entry]);
    }
  }
  const painter = () => {
    const colors = {};
    for (const part of Object.keys(partNames)) colors[part] = colorOf("--" + part);
    return (at) => {
      const found = seen.get(at);
      if (!found) return {color: "#000", alpha: 0, hatch: false};
      const {core, entry} = found;
      const length = core.end[entry] - core.begin[entry];
      const work = timeline.works[core.work[entry]];
      return {color: colors[partOfEntry(core, entry)], alpha: 0.35 + 0.65 * length / longest,
              hatch: !computes(work)};
    };
  };
  const lines = (at) => {
    const found = seen.get(at);
    if (!found) return ["not in this report"];
    const {core, entry} = found;
    const work = timeline.works[core.work[entry]];
    return [`${entryName(core, entry)} ${pointText(core.point[entry])}`,
            timeText(core.end[entry] - core.begin[entry]) +
                (timeline.cores.length > 1 ? ` on core ${core.index}` : ""),
            !computes(work) ? "computes nothing" : "mostly " + partNames[partOfEntry(core, entry)]];
  };
  const steps = axes.reduce((product, count) => product * count, 1);
  const figure = cellFigure({
    id: "grid", title: "The grid", note: `${plural(steps, "step")}, coloured by what takes longest`,
    sides, painter, lines,
    boxOf: (core, entry) => cellsOfPoint(core.point[entry]).map((cell) => [cell, cell]),
  });
  const parts = timeParts().filter((part) => part.name !== "dispatch");
  figure.append(el("ul", {class: "legend"}, ...parts.map(({name}) =>
      el("li", {}, swatch(partColor(name), "part-" + name), partNames[name]))));
  return figure;
}
