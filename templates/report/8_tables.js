// Traffic, memory and the roofline.

// What the emulated machine counted in a run. Operands of the same name are windows on one array.
function countsWords() {
  if (data.counts.length === 0) return "";
  const differs = timeline.operands.filter((operand) => {
    const counted = data.counts.filter((count) => count.operand === operand.name);
    return counted.length === 1 && !operand.smem && counted[0].copies !== operand.copies;
  });
  if (differs.length === 0) return " The run has counted the same copies.";
  const words = differs.map((operand) => {
    const counted = data.counts.find((count) => count.operand === operand.name);
    return `${plural(counted.copies, "copy", "copies")} of ${operand.name}`;
  });
  return ` The run itself has counted ${words.join(", ")}.`;
}

function traffic() {
  const operands = timeline.operands.filter((operand) => operand.kind !== "scratch")
      .sort((a, b) => b.bytes - a.bytes);
  const total = operands.reduce((sum, operand) => sum + operand.bytes, 0);
  const most = operands.reduce((max, operand) => Math.max(max, operand.bytes), 1);
  const rows = operands.map((operand) => {
    const whole = operand.dims.reduce((product, dim) => product * dim.extent, operand.element_bits / 8);
    const times = operand.dims.length && whole > 0 ? operand.bytes / whole : 0;
    const row = el("tr", {},
        el("th", {scope: "row"}, swatch(hueOf(operand)), operand.name,
           el("small", {}, operand.type + (operand.map ? ` at ${operand.map}` : ""))),
        el("td", {}, countText(operand.copies)), el("td", {}, countText(operand.saved)),
        el("td", {}, bytesText(operand.bytes)),
        el("td", {class: "wide"}, times ? digits(times, 2) + " ×" : "–"),
        el("td", {class: "bar"}, el("i", {style: `--share:${operand.bytes / most};` +
                                                 `--color:${hueOf(operand)}`})));
    pointAtLine(row, operand.line);
    return row;
  });
  const heads = [["operand", ""], ["copies", ""], ["saved", "its block was in place already"],
                 ["bytes", ""], ["of the array", "bytes copied, in sizes of the array"], ["", ""]];
  return el("section", {class: "card", "aria-labelledby": "traffic"},
      el("h2", {id: "traffic"}, "Traffic"),
      el("p", {class: "note"}, `${bytesText(total)} between HBM and the cores. A copy is saved when a ` +
                               "step needs the block that the step before had." + countsWords()),
      el("div", {class: "scroll"},
         el("table", {class: "traffic"},
            el("thead", {}, el("tr", {}, ...heads.map(([name, title], i) =>
                el("th", {scope: "col", title, class: i === 4 ? "wide" : ""}, name)))),
            el("tbody", {}, ...rows))));
}

function memoryOf(name, operands, [used, budget], note) {
  if (operands.length === 0) return null;
  const list = el("ul", {class: "memory"});
  const most = operands.reduce((max, operand) => Math.max(max, operand.memory_bytes), 1);
  for (const operand of [...operands].sort((a, b) => b.memory_bytes - a.memory_bytes)) {
    const one = operand.memory_bytes / operand.buffers;
    const item = el("li", {}, el("span", {}, swatch(hueOf(operand)), operand.name),
        el("span", {}, operand.buffers > 1 ? `${operand.buffers} × ${bytesText(one)}` : bytesText(one)),
        el("i", {class: "slots", style: `--share:${operand.memory_bytes / most};` +
            `--color:${hueOf(operand)};--slots:${operand.buffers}`}));
    pointAtLine(item, operand.line);
    list.append(item);
  }
  const share = budget > 0 ? used / budget : 0;
  const bar = el("div", {class: "budget", role: "img", "aria-label": `${name}: ${bytesText(used)} of ` +
      `${bytesText(budget)}`});
  for (const operand of operands) {
    bar.append(el("i", {style: `flex:0 0 ${100 * operand.memory_bytes / Math.max(budget, used)}%;` +
                               `--color:${hueOf(operand)}`}));
  }
  return el("div", {}, el("h3", {}, name, el("span", {}, `${bytesText(used)} of ${bytesText(budget)}, ` +
                                                          percentText(share))),
            bar, el("p", {class: "note"}, note), list);
}

function memory() {
  const inMemory = timeline.operands.filter((operand) => operand.memory_bytes > 0);
  const of = timeline.cores.length > 1 ? "of each core" : "of the core";
  return el("section", {class: "card", "aria-labelledby": "memory"},
      el("h2", {id: "memory"}, `Memory ${of}`),
      memoryOf("VMEM", inMemory.filter((operand) => !operand.smem), [timeline.vmem[0], vmemLimit()],
               "Two buffers let the copies of the next step run beside this one." +
                   (vmemLimit() < timeline.vmem[1]
                        ? ` The core has ${bytesText(timeline.vmem[1])}, for compilers that are told.` : "")),
      memoryOf("SMEM", inMemory.filter((operand) => operand.smem), timeline.smem,
               "What index maps and conditions read."));
}

// ---- roofline ----

function rooflineScale(roof, intensity, rate) {
  const ridge = roof.peak_flops / roof.hbm_bps;
  const xLow = Math.floor(Math.log2(Math.min(intensity, ridge) / 8));
  const xHigh = Math.ceil(Math.log2(Math.max(intensity, ridge) * 8));
  const top = Math.log2(roof.peak_flops * 2);
  const bottom = Math.log2(Math.min(rate, 2 ** xLow * roof.hbm_bps)) - 0.5;
  return {ridge, xLow, xHigh,
          x: (value) => 46 + (Math.log2(value) - xLow) / (xHigh - xLow) * 384,
          y: (value) => 14 + (top - Math.log2(value)) / (top - bottom) * 206};
}

function roofline() {
  const roof = data.roofline;
  if (!(roof.flops > 0 && roof.bytes > 0 && roof.peak_flops > 0)) return null;
  const intensity = roof.flops / roof.bytes;
  const rate = roof.flops / timeline.seconds;
  const inside = roof.flops / Math.max(timeline.seconds - timeline.dispatch, 1e-12);
  const limit = Math.min(roof.peak_flops, intensity * roof.hbm_bps);
  const {ridge, xLow, xHigh, x, y} = rooflineScale(roof, intensity, rate);
  const less = limit >= rate ? `${digits(limit / rate, 2)} ×` : "";
  const text = (at, words, attributes = {}) => el("text", {x: at[0], y: at[1], ...attributes}, words);
  const floor = 220;
  const svg = el("svg", {viewBox: "0 0 440 256", class: "roofline", role: "img",
      "aria-label": `Roofline: ${digits(intensity)} flops a byte, ${rateText(rate, "flop/s")}, the roof ` +
          `there is ${rateText(limit, "flop/s")}`});
  for (let e = Math.ceil(xLow / 2) * 2; e <= xHigh; e += 2) {
    svg.append(el("line", {x1: x(2 ** e), x2: x(2 ** e), y1: 14, y2: floor, class: "grid"}),
               text([x(2 ** e), floor + 13], e < 0 ? `1/${2 ** -e}` : countText(2 ** e), {"text-anchor": "middle"}));
  }
  svg.append(
      el("path", {class: "roof", d: `M${x(2 ** xLow)} ${y(2 ** xLow * roof.hbm_bps)}` +
          `L${x(ridge)} ${y(roof.peak_flops)}L${x(2 ** xHigh)} ${y(roof.peak_flops)}`}),
      text([x(2 ** xHigh), y(roof.peak_flops) - 6], `matmul unit ${rateText(roof.peak_flops, "flop/s")}`,
           {"text-anchor": "end"}),
      text([x(2 ** xLow) + 6, y(2 ** xLow * roof.hbm_bps) - 8], `HBM ${rateText(roof.hbm_bps, "B/s")}`,
           {transform: `rotate(${-Math.atan2(y(2 ** xLow * roof.hbm_bps) - y(roof.peak_flops),
                                            x(ridge) - x(2 ** xLow)) * 180 / Math.PI} ` +
                       `${x(2 ** xLow) + 6} ${y(2 ** xLow * roof.hbm_bps) - 8})`}),
      el("line", {class: "room", x1: x(intensity), x2: x(intensity), y1: y(rate), y2: y(limit)}),
      el("circle", {class: "without", cx: x(intensity), cy: y(inside), r: 5}),
      el("circle", {class: "kernel", cx: x(intensity), cy: y(rate), r: 6}),
      text([430, 250], "flops for each byte copied", {"text-anchor": "end"}));
  return el("section", {class: "card", "aria-labelledby": "roofline"},
      el("h2", {id: "roofline"}, "Roofline"),
      el("p", {class: "note"}, `${digits(intensity)} flops for each byte copied; from ${digits(ridge)} on ` +
          `the matmul unit is the limit, below it HBM. At this ratio the roof is `,
         ...(less ? [strong(less), " higher than the kernel."] : ["no higher than the kernel."])),
      svg,
      el("ul", {class: "legend"}, el("li", {}, swatch("var(--accent)", "dot"), "the call"),
         el("li", {}, el("i", {class: "swatch dot hollow"}), "without its dispatch")));
}
