// The spec's text, and the page put together.

const specLines = [];

// Hovering or focusing an element shows the line of the spec that it comes from.
function pointAtLine(element, line) {
  if (!line) return;
  const mark = (on) => {
    const of = specLines[line - 1];
    if (!of) return;
    of.classList.toggle("pointed", on);
    if (on) scrollInside(of);
  };
  element.addEventListener("pointerenter", () => mark(true));
  element.addEventListener("pointerleave", () => mark(false));
}

// Without moving the page.
function scrollInside(line) {
  const box = line.closest(".spec-lines");
  const top = line.offsetTop;  // within the box
  if (top < box.scrollTop || top + line.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top - box.clientHeight / 2;
}

function specText() {
  const list = el("ol", {class: "spec-lines own-keys", tabindex: 0, "aria-label": "The spec"});
  const wrong = new Set(data.diagnostics.map((diagnostic) => diagnostic.line));
  data.kernel.spec.replace(/\n$/, "").split("\n").forEach((text, i) => {
    const line = el("li", {id: "line-" + (i + 1), class: wrong.has(i + 1) ? "wrong" : ""},
                    el("code", {}, text || " "));
    specLines.push(line);
    list.append(line);
  });
  if (timeline) {
    onCursor(() => {
      const work = timeline.works[timeline.cores[cursor.core].work[cursor.entry]];
      const running = new Set((work?.statements.match(/\d+/g) ?? []).map(Number));
      specLines.forEach((line, i) => line.classList.toggle("running", !inRanges && running.has(i + 1)));
    });
  }
  return el("div", {class: "spec"}, el("h3", {}, data.kernel.file), list);
}

function footer() {
  const ranges = timeline ? `Simulated times of a ${timeline.machine}; the arrow keys step through the grid.` : "";
  return el("footer", {}, ranges);
}

document.title = `${data.kernel.name} · kiln report`;
const page = document.getElementById("page");
page.append(header());
const found = diagnostics();
if (found) page.append(found);
const hasCores = timeline !== null && timeline.cores.length > 0;
if (hasCores) page.append(summary());
if (hasCores && timeline.cores.some((core) => core.entries > 0)) {
  page.append(steps(), timelineSection());
  page.append(el("div", {class: "pair"}, ...[traffic(), memory(), roofline()].filter(Boolean)));
  page.append(footer());
  moveTo(0, slowestCore().entries > 0 ? slowestCore().index : 0);
  const running = document.querySelector(".running");
  if (running) scrollInside(running);
} else {
  const nothing = timeline && !hasCores ? el("p", {class: "lead"}, "The grid has no steps: nothing runs.")
                                       : null;
  page.append(el("section", {class: "card"}, nothing, specText()));
}
root.dataset.ready = "";
