// The answer first: how long, how much is skipped, where the time goes.

const partNames = {
  wait: "waiting for copies",
  mxu: "matmul unit",
  vpu: "vector unit",
  overhead: "step overhead",
  dispatch: "dispatch of the call",
};
const partHelp = {
  wait: "a step waits until its blocks have come from HBM",
  mxu: "dots",
  vpu: "everything else that a step computes",
  overhead: "no step is shorter than its bookkeeping",
  dispatch: "what the host needs to start any kernel",
};
const partColor = (part) => `var(--${part})`;

const slowestCore = () =>
    timeline.cores.reduce((slow, core) => (core.totals.seconds > slow.totals.seconds ? core : slow));

function timeParts() {
  const totals = slowestCore().totals;
  const parts = [];
  for (const name of ["mxu", "vpu", "wait", "overhead"]) parts.push({name, seconds: totals[name]});
  const rest = timeline.seconds - timeline.dispatch - parts.reduce((sum, p) => sum + p.seconds, 0);
  // What the last copy out takes after the last step belongs to the copies.
  parts[2].seconds += Math.max(0, rest);
  parts.push({name: "dispatch", seconds: timeline.dispatch});
  // What is left after rounding is no part.
  return parts.filter((part) => part.seconds > 1e-5 * timeline.seconds);
}

function coverageWords() {
  const coverage = timeline.coverage;
  if (!coverage || coverage.of <= 1) return null;
  const picture = timeline.pictures[coverage.picture];
  const of = picture ? picture.computed.length : coverage.of;
  const computed = picture ? picture.computed.filter((steps) => steps > 0).length : coverage.computed;
  const blocks = picture ? "blocks of " + picture.title
                         : "block products over " + coverage.dims.join(" × ");
  if (computed === of) {
    return [strong("No block is skipped"),
            `: all ${countText(coverage.of)} products of blocks are computed. `];
  }
  return [strong(`${percentText(1 - computed / of)} of the blocks are skipped`),
          `: ${countText(computed)} of the ${countText(of)} ${blocks} are computed. `];
}

// What the call waits for, as `kiln predict` says it, and where else much of the time goes: steps
// can be bound by HBM and still compute for longer than they wait.
function boundWords(parts) {
  const goes = {
    wait: "goes into waiting for copies",
    mxu: "goes into the matmul unit",
    vpu: "goes into the vector unit",
    overhead: "is the overhead of steps too small to be worth it",
    dispatch: "is the host's dispatch of the call",
  };
  const partOf = {HBM: "wait", MXU: "mxu", VPU: "vpu", steps: "overhead", dispatch: "dispatch"};
  const nameOf = {HBM: "HBM", MXU: "the matmul unit", VPU: "the vector unit", steps: "its steps",
                  dispatch: "dispatch"};
  const shareOf = (part) => percentText(part.seconds / timeline.seconds);
  const bound = parts.find((part) => part.name === partOf[data.bound]) ?? parts[0];
  const most = parts.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  const more = most === bound ? "" : `, ${shareOf(most)} ${goes[most.name]}`;
  const {dma, mxu, vpu} = slowestCore().totals;
  const busy = data.bound === "HBM" && most !== bound && dma > mxu + vpu ? ", which is busy for longer than the units compute" : "";
  return ["Bound by ", strong(nameOf[data.bound] ?? data.bound), busy, ": ", strong(shareOf(bound)),
          ` of the time ${goes[bound.name]}${more}. `];
}

function peakShare() {
  const roof = data.roofline;
  return roof.peak_flops > 0 ? roof.flops / timeline.seconds / roof.peak_flops : 0;
}

function lead() {
  const cores = timeline.cores.length;
  const on = `${cores === 1 ? "one core" : countText(cores) + " cores"} of a ${timeline.machine}`;
  const dims = data.kernel.dims.map(([name, value]) => `${name}\u00a0=\u00a0${countText(value)}`).join(", ");
  const refused = data.diagnostics.some((diagnostic) => diagnostic.error)
      ? "It is refused; without that, it would be like this. " : null;
  return el("p", {class: "lead"}, refused, "Takes ", strong(timeText(timeline.seconds)), ` on ${on}`,
            dims ? ` for ${dims}. ` : ". ", ...(coverageWords() ?? []), ...boundWords(timeParts()));
}

function timeBar() {
  const parts = timeParts();
  const bar = el("div", {class: "time-bar", role: "img",
                         "aria-label": "Where the time goes: " + parts.map((part) =>
                             `${partNames[part.name]} ${percentText(part.seconds / timeline.seconds)}`)
                             .join(", ")});
  const legend = el("ul", {class: "time-legend"});
  for (const part of parts) {
    const share = part.seconds / timeline.seconds;
    bar.append(el("i", {class: "part-" + part.name, style: `flex:${share} 0 0`}));
    legend.append(el("li", {}, swatch(partColor(part.name), "part-" + part.name),
                     el("b", {}, percentText(share)), " ", partNames[part.name],
                     el("small", {}, `${timeText(part.seconds)}: ${partHelp[part.name]}`)));
  }
  return el("section", {class: "where", "aria-labelledby": "where"},
            el("h2", {id: "where"}, "Where the time goes"), bar, legend);
}

function tile(name, value, note) {
  return el("div", {class: "tile"}, el("dt", {}, name), el("dd", {}, value),
            el("small", {}, note));
}

// Kernels get less than the core has, unless their compiler is told otherwise.
const vmemLimit = () => data.vmem_limit || timeline.vmem[1];

function tiles() {
  const roof = data.roofline;
  const totals = timeline.cores.map((core) => core.totals);
  const sum = (name) => totals.reduce((all, core) => all + core[name], 0);
  const traffic = sum("bytes_in") + sum("bytes_out");
  const rate = traffic / timeline.seconds;
  const list = el("dl", {class: "tiles"});
  if (roof.flops > 0) {
    list.append(tile("of the peak", percentText(peakShare()),
                     `${rateText(roof.flops / timeline.seconds, "flop/s")} of ` +
                     rateText(roof.peak_flops, "flop/s") + (roof.name ? ` in ${roof.name}` : "")));
  }
  list.append(
      tile("HBM traffic", bytesText(traffic),
           rateText(rate, "B/s") +
               (roof.hbm_bps ? `, ${percentText(rate / roof.hbm_bps)} of the HBM's` : "")),
      tile("grid steps", countText(sum("steps")),
           sum("skipped") ? `${countText(sum("skipped"))} of them compute nothing`
                          : timeText(sum("seconds") / Math.max(1, sum("steps"))) + " each"),
      tile("VMEM", bytesText(timeline.vmem[0]),
           `of ${bytesText(vmemLimit())}` + (timeline.cores.length > 1 ? " a core" : "")));
  return list;
}

function diagnostics() {
  if (data.diagnostics.length === 0) return null;
  const list = el("ul", {class: "diagnostics"});
  for (const diagnostic of data.diagnostics) {
    list.append(el("li", {class: diagnostic.error ? "error" : "warning"},
        el("b", {}, `${diagnostic.error ? "error" : "warning"}[${diagnostic.rule}]`), " ",
        ...prose(diagnostic.message),
        diagnostic.line ? el("a", {href: "#line-" + diagnostic.line}, ` line ${diagnostic.line}`) : null,
        diagnostic.hint ? el("small", {}, ...prose(diagnostic.hint)) : null));
  }
  return el("section", {class: "card alert", "aria-label": "Diagnostics"},
            el("h2", {}, plural(data.diagnostics.length, "diagnostic")), list);
}

function themeButton() {
  const button = el("button", {type: "button", class: "theme",
                               onclick: () => setTheme(isDark() ? "light" : "dark")});
  const label = () => {
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  themeListeners.push(label);
  label();
  return button;
}

// Names may go on in the next line after a `_`.
const breakable = (name) =>
    name.split("_").flatMap((part, i) => (i === 0 ? [part] : ["_", el("wbr"), part]));

function header() {
  const kernel = data.kernel;
  const origin = !timeline ? "nothing ran"
      : data.counts.length ? "of a run on the emulated machine; times are simulated"
                          : "predicted from the index maps; nothing was run";
  return el("header", {class: "top"},
            el("div", {}, el("p", {class: "kicker"}, `kiln report · ${kernel.file} · ${origin}`),
               el("h1", {}, ...breakable(kernel.name)), el("p", {class: "doc"}, kernel.doc)),
            themeButton());
}

function advice() {
  if (data.advice.length === 0) return null;
  return el("ul", {class: "advice"}, ...data.advice.map((line) => el("li", {}, ...prose(line))));
}

function summary() {
  const section = el("div", {class: "card summary"});
  const main = el("div", {class: "summary-main"}, lead(), timeBar(), advice());
  section.append(main);
  const covered = timeline.coverage && timeline.pictures[timeline.coverage.picture];
  if (covered && covered.computed.some((steps) => steps === 0)) {
    section.append(coverageFigure(covered));
  } else {
    section.classList.add("plain");
  }
  section.append(tiles());
  return section;
}
