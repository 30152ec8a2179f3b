// Step by step: controls, pictures, and what happens to each operand.

function stepControls() {
  const button = (label, text, action) =>
      el("button", {type: "button", "aria-label": label, title: label, onclick: action}, text);
  const slider = el("input", {type: "range", min: 0, "aria-label": "Step",
                              oninput: () => moveTo(Number(slider.value))});
  const name = el("output", {class: "step-name"});
  const playButton = button("Play", "▶", () => play(playing === null));
  playButton.classList.add("play");
  const cores = timeline.cores.length > 1
      ? el("select", {"aria-label": "Core to follow",
                      onchange: (event) => moveTo(cursor.entry, Number(event.target.value))},
           ...timeline.cores.map((core) => el("option", {value: core.index}, `core ${core.index}`)))
      : null;
  onCursor(() => {
    const core = timeline.cores[cursor.core];
    slider.max = core.entries - 1;
    slider.value = cursor.entry;
    if (cores) cores.value = cursor.core;
    playButton.textContent = playing === null ? "▶" : "❚❚";
    playButton.setAttribute("aria-label", playing === null ? "Play" : "Pause");
    const where = `${entryName(core, cursor.entry)} of ${countText(core.totals.steps)}`;
    slider.setAttribute("aria-valuetext", `${where} ${pointText(core.point[cursor.entry])}`);
    name.replaceChildren(el("b", {}, where), " ", pointText(core.point[cursor.entry]));
  });
  return el("div", {class: "controls"},
            el("div", {class: "buttons"}, button("First step", "⇤", () => moveTo(0)),
               button("Step back", "←", () => moveTo(cursor.entry - 1)), playButton,
               button("Step forward", "→", () => moveTo(cursor.entry + 1)),
               button("Last step", "⇥", () => moveTo(Infinity)), cores),
            slider, name);
}

function legend() {
  return el("ul", {class: "legend"},
            el("li", {}, el("i", {class: "swatch ramp"}), "copied once … often"),
            el("li", {}, swatch("var(--empty)", isPart ? "" : "hatched"),
               isPart ? "not used by these first steps" : "skipped: nothing is computed with it"),
            el("li", {}, el("i", {class: "swatch frame-now"}), "in use at this step"),
            el("li", {}, el("i", {class: "swatch frame-coming"}), "on its way for the next"));
}

// The copies of an entry, by operand: they are sorted by entry.
function copiesAt(core, operand, entry) {
  const found = [];
  for (const copies of core.copies) {
    if (copies.operand !== operand.index) continue;
    for (let i = lastAtMost(copies.entry, entry); i >= 0 && copies.entry[i] === entry; --i)
      found.push({out: copies.out, bytes: copies.bytes[i], count: copies.count?.[i] ?? 1,
                  busy: copies.busy[i]});
  }
  return found.reverse();
}

function whatHappens(core, operand, entry) {
  const copies = copiesAt(core, operand, entry);
  const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0);
  const count = copies.reduce((sum, copy) => sum + copy.count, 0);
  const took = timeText(copies.reduce((sum, copy) => sum + copy.busy, 0));
  if (operand.kind === "output") {
    return count ? `done: ${bytesText(bytes)} out, ${took}` : "stays";
  }
  if (operand.kind === "hbm") return count ? `${plural(count, "copy", "copies")} by hand, ${took}` : "in HBM";
  if (count === 0) return "same block, no copy";
  return (count === 1 ? "" : plural(count, "copy", "copies") + ", ") +
      `${bytesText(bytes)} in, ${took}`;
}

function workWords(core, entry) {
  const work = timeline.works[core.work[entry]];
  const length = timeText(core.end[entry] - core.begin[entry]);
  const waited = core.wait[entry] > 0 ? `${timeText(core.wait[entry])} of it waiting for blocks` : "no wait";
  if (inRanges) return `${length}, ${waited}`;
  return `${length}, ${waited}` + (computes(work) ? "" : "; computes nothing");
}

const shownOperands = () =>
    timeline.operands.filter((operand) => ["input", "output", "hbm"].includes(operand.kind));

function stepTable() {
  const rows = shownOperands().map((operand) => {
    const block = el("td", {class: "block"});
    const happens = el("td", {});
    const row = el("tr", {"data-operand": operand.name},
                   el("th", {scope: "row"}, swatch(hueOf(operand)), operand.name), block, happens);
    pointAtLine(row, operand.line);
    return {operand, block, happens, row};
  });
  const time = el("td", {colspan: 2});
  const body = el("tbody", {}, ...rows.map((row) => row.row),
                  el("tr", {class: "time"}, el("th", {scope: "row"}, "time"), time));
  onCursor(() => {
    const core = timeline.cores[cursor.core];
    for (const {operand, block, happens} of rows) {
      const box = boxInPlace(core, operand, cursor.entry);
      block.textContent = box ? boxText(box) : "–";
      happens.textContent = whatHappens(core, operand, cursor.entry);
    }
    time.textContent = workWords(core, cursor.entry);
  });
  return el("table", {class: "step-table"},
            el("thead", {}, el("tr", {}, ...["operand", "block", "at this step"].map((name) =>
                el("th", {scope: "col"}, name)))), body);
}

// What a screen reader hears once the reader stops.
function announce() {
  let waiting = null;
  onCursor(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const core = timeline.cores[cursor.core];
      const blocks = shownOperands().map((operand) => {
        const box = boxInPlace(core, operand, cursor.entry);
        return box ? `${operand.name} ${boxText(box)}` : "";
      }).filter(Boolean).join(", ");
      document.getElementById("announcer").textContent =
          `${entryName(core, cursor.entry)} ${pointText(core.point[cursor.entry])}: ${blocks}`;
    }, 400);
  });
}

function rangesNote() {
  const shown = timeline.cores.reduce((sum, core) => sum + core.steps, 0);
  const all = timeline.cores.reduce((sum, core) => sum + core.totals.steps, 0);
  if (!inRanges && shown === all) return null;
  const notes = [];
  if (inRanges) {
    notes.push(`This run is shown in ranges of ${timeline.steps_per_entry} steps: frames are around ` +
               "all the blocks of a range, the colours count each copy.");
  }
  if (shown < all) {
    notes.push(`Pictures and the detailed timeline have the first ${countText(shown)} of ` +
               `${countText(all)} steps; times, traffic and the overview have all of them.`);
  }
  return el("p", {class: "note"}, notes.join(" "));
}

function steps() {
  // First what is skipped, then the grid, then the operands.
  const order = timeline.pictures.map((picture, i) => ({picture, i}));
  const pictures = el("div", {class: "pictures"});
  const add = (wanted) => order.filter(({picture}) => wanted(picture)).forEach(({picture, i}) =>
      pictures.append(pictureFigure(picture, picture.operand < 0 ? "product-" + i : picture.title)));
  add((picture) => picture.operand < 0);
  if (timeline.axes.some((axis) => axis.steps > 1)) pictures.append(gridFigure());
  add((picture) => picture.operand >= 0);
  announce();
  return el("section", {class: "card", id: "steps", "aria-labelledby": "steps-title"},
      el("div", {class: "title"}, el("h2", {id: "steps-title"}, "Step by step"),
         el("p", {class: "keys"}, "Keys: ", el("kbd", {}, "←"), " ", el("kbd", {}, "→"),
            " step, ", el("kbd", {}, "space"), " plays; click a cell for its first step")),
      rangesNote(), stepControls(),
      el("div", {class: "split"},
         el("div", {}, pictures, legend()),
         el("div", {class: "side"}, stepTable(), specText())));
}
