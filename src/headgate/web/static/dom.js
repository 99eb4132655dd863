// Elements in one line, and changes that touch nothing that is as it should be.

const SVG = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined));
  return element;
}

export const h = (tag, attributes, ...children) => made(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => made(document.createElementNS(SVG, tag), attributes, children);

export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function mark(element, name, value) {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

const SIGNS = {
  "on time": "✓", slipping: "△", late: "▲", failed: "✕", trying: "↻", paused: "‖", quiet: "○", waiting: "○",
  running: "▸", ended: "■",
};

// A state by colour, sign and word: nobody has to see colours.
export function badge(state = "quiet") {
  const element = h("span", { class: "badge" });
  showState(element, state);
  return element;
}

export function showState(element, state) {
  mark(element, "state", state);
  put(element, `${SIGNS[state] ?? "○"} ${state}`);
}

// Names and what they are: a list of terms that is filled in as news come.
export function facts(names) {
  const cells = names.map(() => h("dd", null, "–"));
  const list = h("dl", { class: "facts" }, names.map((name, i) => h("div", null, h("dt", null, name), cells[i])));
  return { element: list, show: (texts) => texts.forEach((text, i) => put(cells[i], text)) };
}
