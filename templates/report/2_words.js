// Numbers and elements: everything that is shown becomes text nodes, never markup.

function digits(value, count = 3) {
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(places, 6));
}

function timeText(seconds) {
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (Math.abs(seconds) >= 0.9995 * scale) return digits(seconds / scale) + "\u00a0" + unit;
  }
  return digits(seconds * 1e9) + "\u00a0ns";
}

function bytesText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1023.5 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return (unit ? digits(bytes) : String(bytes)) + "\u00a0" + units[unit];
}

function rateText(perSecond, of) {
  for (const [unit, scale] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (perSecond >= scale) return digits(perSecond / scale) + "\u00a0" + unit + of;
  }
  return digits(perSecond) + " " + of;
}

const counted = new Intl.NumberFormat("en", {useGrouping: true});
const countText = (value) => counted.format(value).replaceAll(",", "\u202f");
const plural = (count, one, many = one + "s") => countText(count) + " " + (count === 1 ? one : many);

// Never 100 % of what is not all, nor 0 % of what is not nothing.
function percentText(share) {
  if (share > 0 && share < 0.0005) return "under 0.1\u00a0%";
  if (share > 0.9995 && share < 1) return "over 99.9\u00a0%";
  const percent = 100 * share;
  const places = percent > 0 && (percent < 9.95 || (percent >= 99.5 && percent < 100)) ? 1 : 0;
  return percent.toFixed(places) + "\u00a0%";
}

const indexText = (at) => (at.length === 1 ? String(at[0]) : "(" + at.join(", ") + ")");

function boxText(box) {
  return indexText(box.map(([low, high]) => (low === high ? low : low + "–" + high)));
}

function pointText(point) {
  const axes = timeline.axes;
  if (axes.length === 0) return "()";
  const at = positionsOf(point, axes.map((axis) => axis.steps));
  return "(" + axes.map((axis, a) => axis.name + "=" + at[a]).join(", ") + ")";
}

// el("p", {class: "lead"}, "text", child …)
function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "circle", "text", "g", "rect"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                   : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") made.style.cssText = value;
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const strong = (text) => el("strong", {}, text);

// Text with `code` in backquotes.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

// A hue for each operand, the same all over the page.
const hueOf = (operand) => `var(--operand-${operand.hue})`;
const swatch = (color, extra = "") => el("i", {class: "swatch " + extra, style: "--color:" + color});

// What a colour is right now: canvases know no variables.
function colorOf(name) {
  const match = /^var\((.*)\)$/.exec(name);
  return getComputedStyle(document.documentElement).getPropertyValue(match ? match[1] : name).trim();
}

const tooltip = document.getElementById("tooltip");
function showTooltip(event, lines) {
  tooltip.replaceChildren(...lines.map((line, i) => el(i ? "div" : "b", {}, line)));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const below = event.clientY + 18;
  const top = below + box.height > innerHeight ? event.clientY - box.height - 12 : below;
  tooltip.style.left = Math.max(8, left) + "px";
  tooltip.style.top = Math.max(8, top) + "px";
}
const hideTooltip = () => (tooltip.hidden = true);
