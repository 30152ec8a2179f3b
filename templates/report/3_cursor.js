// Where the reader is: an entry (a step, or a range of steps) of a core. Everything that shows it
// listens.

const cursor = {core: 0, entry: 0};
const listeners = [];
const themeListeners = [];

const onCursor = (listener) => listeners.push(listener);

function moveTo(entry, core = cursor.core) {
  cursor.core = core;
  cursor.entry = Math.max(0, Math.min(entry, timeline.cores[core].entries - 1));
  for (const listener of listeners) listener();
}

// What another core does while the reader's step computes; -1: it has not begun, or has ended.
function entryOn(core) {
  if (core.index === cursor.core) return cursor.entry;
  const chosen = timeline.cores[cursor.core];
  const now = chosen.begin[cursor.entry] + chosen.wait[cursor.entry];
  const entry = lastAtMost(core.begin, now);
  return entry >= 0 && core.end[entry] > now ? entry : -1;
}

// Not all steps are known one by one: what is not among them is not skipped.
const isPart = timeline !== null && timeline.cores.some((core) => !core.detailed);
const inRanges = timeline !== null && timeline.steps_per_entry > 1;

// Readers count from 1.
function entryName(core, entry) {
  if (!inRanges) return `Step ${countText(entry + 1)}`;
  const first = entry * timeline.steps_per_entry + 1;
  const last = Math.min(first + timeline.steps_per_entry - 1, core.steps);
  return `Steps ${countText(first)}–${countText(last)}`;
}

// The other end of a copy of the pipeline: those that run beside this entry and bring the next one's.
function arrivingBox(core, operand, entry) {
  if (operand.kind !== "input" || inRanges) return null;
  const next = boxInPlace(core, operand, entry + 1);
  const now = boxInPlace(core, operand, entry);
  return next && now && String(next) !== String(now) ? next : null;
}

let playing = null;
function play(on) {
  clearInterval(playing);
  playing = null;
  if (on) {
    const core = timeline.cores[cursor.core];
    if (cursor.entry + 1 >= core.entries) moveTo(0);
    // Slow enough to follow, and no run takes longer than a minute.
    const stride = Math.ceil(core.entries / 480);
    playing = setInterval(() => {
      moveTo(cursor.entry + stride);
      if (cursor.entry + 1 >= timeline.cores[cursor.core].entries) play(false);
    }, 125);
  }
  for (const listener of listeners) listener();
}

const keys = {
  ArrowRight: (event) => moveTo(cursor.entry + (event.shiftKey ? 10 : 1)),
  ArrowLeft: (event) => moveTo(cursor.entry - (event.shiftKey ? 10 : 1)),
  Home: () => moveTo(0),
  End: () => moveTo(Infinity),
  " ": () => play(playing === null),
};

document.addEventListener("keydown", (event) => {
  const tag = event.target.tagName;
  const ownKeys = tag === "INPUT" || tag === "SELECT" || event.target.closest?.(".own-keys");
  const presses = event.key === " " && (tag === "BUTTON" || tag === "SUMMARY" || tag === "A");
  if (!timeline || !keys[event.key] || ownKeys || presses) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  keys[event.key](event);
});

// ---- light and dark ----

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";

function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem("kiln-theme", theme);
  } catch {
    // Pages of a file may be without storage: then the choice lasts as long as the page.
  }
  for (const listener of themeListeners) listener();
}

try {
  const kept = localStorage.getItem("kiln-theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
} catch {
  // As above.
}
prefersDark.addEventListener("change", () => themeListeners.forEach((listener) => listener()));
