// The timeline: moving about in it, and its section of the page.

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
