// Returns a list of sentences about what a person with a keyboard, a screen reader or little sight would stumble on.
const problems = [];
const seen = element => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return style.visibility !== "hidden" && style.display !== "none" && box.width > 0 && box.height > 0 && !element.closest("[hidden]")
    && element.checkVisibility();
};
const unseen = element => element.closest(".unseen") !== null;
const described = element => element.outerHTML.slice(0, 90);
const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter(seen);

function name(element) {
  const by = element.getAttribute("aria-labelledby");
  if (by) return by.split(/\s+/).map(id => (document.getElementById(id) || {}).textContent || "").join(" ").trim();
  if (element.getAttribute("aria-label")) return element.getAttribute("aria-label").trim();
  if (element.labels && element.labels.length) return [...element.labels].map(label => label.textContent).join(" ").trim();
  return /^(BUTTON|A|SUMMARY)$/.test(element.tagName) ? element.textContent.trim() : "";
}

// Names: every control has one, and what is written on it is part of it; no two fields share one.
const fields = new Map();
for (const element of controls) {
  const called = name(element);
  if (!called) problems.push(`no name: ${described(element)}`);
  if (/^(INPUT|SELECT)$/.test(element.tagName)) {
    if (element.id && document.querySelectorAll(`#${CSS.escape(element.id)}`).length > 1) problems.push(`id twice: ${element.id}`);
    const key = `${called}|${element.type}`;
    if (fields.has(key) && element.id !== "answer" && fields.get(key).id !== "answer") problems.push(`two fields called ${called}`);
    fields.set(key, element);
  }
}
for (const label of document.querySelectorAll("label[for]")) {
  if (seen(label) && !document.getElementById(label.htmlFor)) problems.push(`a label for nothing: ${described(label)}`);
}

// Targets: at least 24 by 24 pixels; a label around a tick counts with it.
for (const element of controls) {
  const box = element.getBoundingClientRect();
  if (box.width < 23.9 || box.height < 23.9) problems.push(`${Math.round(box.width)} x ${Math.round(box.height)} px: ${described(element)}`);
}

// Headings: one h1, no level left out, none empty.
let level = 0;
const headings = [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen);
if (headings.filter(h => h.tagName === "H1").length !== 1) problems.push("not exactly one h1");
for (const heading of headings) {
  const now = Number(heading.tagName[1]);
  if (now > level + 1) problems.push(`h${now} after h${level}`);
  if (!heading.textContent.trim()) problems.push(`an empty heading: ${described(heading)}`);
  level = now;
}
if (!document.documentElement.lang) problems.push("no language");
if (!document.title) problems.push("no title");
if (!document.querySelector("main")) problems.push("no main landmark");

// Contrast: text 4.5 (3 if large), borders of controls 3, against what is behind them; ticks are the browser's own.
const parse = colour => {
  const parts = colour.match(/[\d.]+/g).map(Number);
  return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
};
const light = rgb => {
  const [r, g, b] = rgb.map(value => { const v = value / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (one, two) => { const [a, b] = [light(one), light(two)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
function behind(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.alpha === 1) return colour.rgb;
  }
  return [255, 255, 255];
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const told = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || told.has(element) || /^(SCRIPT|STYLE|OPTION)$/.test(element.tagName) || !seen(element) || unseen(element)) continue;
  told.add(element);
  if (element.disabled) continue;
  const style = getComputedStyle(element), size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const found = ratio(parse(style.color).rgb, behind(element));
  if (found < (large ? 3 : 4.5)) problems.push(`contrast ${found.toFixed(2)} of text: ${described(element)}`);
}
for (const element of [...document.querySelectorAll("input:not([type=checkbox]), select, button, section")].filter(seen)) {
  const style = getComputedStyle(element);
  if (parseFloat(style.borderTopWidth) < 1) { problems.push(`no border: ${described(element)}`); continue; }
  const around = behind(element.parentElement), edge = ratio(parse(style.borderTopColor).rgb, around);
  if (edge < 3) problems.push(`contrast ${edge.toFixed(2)} of a border: ${described(element)}`);
}

// Nothing is wider than the window, and no text is cut off.
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) problems.push(`the page is ${document.documentElement.scrollWidth} px wide in ${width}`);
for (const element of document.querySelectorAll("body *")) {
  if (!seen(element) || unseen(element)) continue;
  const box = element.getBoundingClientRect();
  if (box.right > width + 0.5 || box.left < -0.5) problems.push(`sticks out (${Math.round(box.left)} to ${Math.round(box.right)} of ${width}): ${described(element)}`);
  const style = getComputedStyle(element);
  if (/hidden|clip|auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && !/^(INPUT|SELECT)$/.test(element.tagName)) {
    problems.push(`clipped: ${described(element)}`);
  }
}

// The keyboard: nothing is taken out of the order of Tab, and what changes is announced.
for (const element of controls) if (element.tabIndex < 0) problems.push(`not reached by Tab: ${described(element)}`);
if (!document.querySelector("[role=status], [aria-live]")) problems.push("changes are not announced");
if (!document.querySelector("[role=alert]")) problems.push("errors are not announced");
return problems;
