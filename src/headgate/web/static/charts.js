// Charts of BokehJS: lines over time for each class, and what ran on the lanes. Colours are those of the theme.

import { h } from "./dom.js";
import { ofClass } from "./colours.js";
import { count } from "./format.js";

const { Bokeh } = window;
if (Bokeh) Bokeh.set_log_level("error");

// BokehJS shows times as UTC: moved, so that it is the clock on the wall.
const moved = () => -60000 * new Date().getTimezoneOffset();
export const wall = (seconds) => 1000 * seconds + moved();

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const TIMES = { milliseconds: "%S.%3N", seconds: "%H:%M:%S", minsec: "%H:%M:%S", minutes: "%H:%M", hourmin: "%H:%M", hours: "%H:%M" };

function figure(attributes) {
  const made = Bokeh.Plotting.figure({
    sizing_mode: "stretch_width", toolbar_location: null, tools: [], min_border_right: 12, output_backend: "canvas",
    background_fill_color: null, border_fill_color: null, outline_line_color: null, ...attributes,
  });
  made.below[0].setv({ formatter: new Bokeh.DatetimeTickFormatter(TIMES) });
  dress(made);
  return made;
}

function dress(made) {
  const text = style("--faint");
  const line = style("--line");
  const size = `${Math.round(0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize))}px`;
  for (const axis of [...made.below, ...made.left]) {
    axis.setv({
      axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null,
      major_label_text_color: text, major_label_text_font_size: size, major_label_text_font: "system-ui",
    });
  }
  for (const grid of made.center) if (grid.setv && "grid_line_color" in grid) grid.setv({ grid_line_color: line, grid_line_alpha: 0.6 });
}

// Shows a figure in an element; what it gives takes it away again.
function shown(made, element) {
  const view = Bokeh.Plotting.show(made, element);
  const dressed = () => dress(made);
  document.addEventListener("theme", dressed);
  return async () => {
    document.removeEventListener("theme", dressed);
    [await view].flat().forEach((each) => each.remove());
  };
}

export function legend(names, look = ofClass) {
  const one = (name, i) => h("li", null, h("span", { class: "swatch", style: `background:${look(name, i).colour}` }), name);
  return h("ul", { class: "legend" }, names.map(one));
}

// An axis says its numbers as the tables do.
function said(format) {
  const made = new Bokeh.BasicTickFormatter();
  made.doFormat = (ticks) => ticks.map(format);
  return made;
}

// Lines over time, one for each name; `format` says what is on the axis, `top` is the least that it shows and `most`
// what it ends at, `look` what gives a name its colour.
export class Lines {
  constructor(title, { format = count, top = null, most = Infinity, height = 170, look = ofClass } = {}) {
    this.options = { format, top, most, height: Math.round(height * Math.max(1, innerHeight / 820)), look };
    this.place = h("div", { class: "plot" });
    this.key = h("span");
    this.element = h("figure", { class: "chart" }, h("figcaption", null, h("span", null, title), this.key), this.place);
    this.names = "";
  }

  // Times in seconds, and an array of values for each name.
  update(times, values) {
    const names = Object.keys(values);
    if (names.join() !== this.names) this.#build(names);
    const x = times.map(wall);
    this.source.data = { x, ...Object.fromEntries(names.map((name, i) => [`y${i}`, values[name].map((y) => y ?? NaN)])) };
    if (!x.length) return;
    this.figure.x_range.setv({ start: x[0], end: Math.max(x.at(-1), x[0] + 10000) });
    let highest = this.options.top ?? 0;
    for (const name of names) for (const y of values[name]) if (y > highest) highest = y;
    const end = highest > (this.options.top ?? 0) ? 1.05 * highest : highest || 1;
    this.figure.y_range.setv({ start: 0, end: Math.min(end, this.options.most) });
  }

  #build(names) {
    this.remove?.();
    this.names = names.join();
    this.key.replaceChildren(names.length > 1 ? legend(names, this.options.look) : "");
    this.source = new Bokeh.ColumnDataSource({ data: { x: [] } });
    const range = () => new Bokeh.Range1d({ start: 0, end: 1 });
    this.figure = figure({ height: this.options.height, x_axis_type: "datetime", x_range: range(), y_range: range() });
    this.figure.left[0].setv({ formatter: said(this.options.format) });
    names.forEach((name, i) => {
      const look = this.options.look(name, i);
      const line = { line_color: look.colour, line_dash: look.dash, line_width: 2 };
      this.figure.line({ x: { field: "x" }, y: { field: `y${i}` }, source: this.source, ...line });
    });
    this.remove = shown(this.figure, this.place);
  }
}

const HOVER = [
  ["unit", "@unit"], ["class", "@cls"], ["took", "@took"], ["tuples", "@n"], ["results", "@results"], ["why", "@why"],
  ["rather than", "@over"], ["error", "@error"],
];

const EDGED = 3;

// What ran when, a line for each lane. A border would make a short run longer than it was: from 3 pixels on there is one.
export class Timeline {
  constructor(seconds) {
    this.seconds = seconds;
    this.place = h("div", { class: "plot" });
    this.element = h("figure", { class: "chart" }, this.place);
    this.lanes = "";
  }

  // Rows of columns; what is shown begins and ends at these seconds.
  update(begin, now, lanes, columns) {
    if (lanes.join() !== this.lanes) this.#build(lanes);
    const pixels = this.place.clientWidth / (1000 * Math.max(now - begin, 0.001));
    const edge = columns.left.map((left, i) => ((columns.right[i] - left) * pixels < EDGED ? 0 : 1));
    this.source.data = { ...columns, edge };
    this.figure.x_range.setv({ start: wall(begin), end: wall(now) });
  }

  #build(lanes) {
    this.remove?.();
    this.lanes = lanes.join();
    this.source = new Bokeh.ColumnDataSource({ data: { left: [] } });
    const y_range = new Bokeh.FactorRange({ factors: [...lanes].reverse() });
    const x_range = new Bokeh.Range1d({ start: 0, end: 1 });
    this.figure = figure({ height: 90 + 46 * lanes.length, x_axis_type: "datetime", x_range, y_range });
    const fields = { left: { field: "left" }, right: { field: "right" }, y: { field: "lane" }, height: 0.7 };
    const look = { fill_color: { field: "colour" }, line_color: { field: "colour" }, line_alpha: { field: "edge" }, fill_alpha: 0.75 };
    const bars = this.figure.hbar({ ...fields, ...look, source: this.source });
    this.figure.add_tools(new Bokeh.HoverTool({ tooltips: HOVER, renderers: [bars], point_policy: "follow_mouse" }));
    this.remove = shown(this.figure, this.place);
  }
}

// A line without axes, for a card: values over time, and a level to compare them with.
export class Spark {
  constructor() {
    this.element = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.element.setAttribute("viewBox", "0 0 100 24");
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.setAttribute("class", "spark");
    this.element.setAttribute("aria-hidden", "true");
    this.element.innerHTML = '<line x1="0" x2="100" class="level"/><path class="values"/>';
  }

  update(values, level, stroke) {
    const most = Math.max(level ?? 0, ...values.map((value) => value ?? 0), 1e-9) * 1.1;
    const at = (value) => (24 - 23 * (value / most)).toFixed(2);
    const step = 100 / Math.max(1, values.length - 1);
    const [line, path] = this.element.children;
    // What is not known is a gap: no results are not fast ones. One value between gaps is a dot.
    const known = (i) => (values[i] ?? null) !== null;
    const point = (value, i) => (known(i) ? `${known(i - 1) ? "L" : "M"}${(i * step).toFixed(2)},${at(value)}${known(i - 1) || known(i + 1) ? "" : "h0"}` : "");
    path.setAttribute("d", values.map(point).join(""));
    path.setAttribute("stroke", stroke);
    line.setAttribute("visibility", level ? "visible" : "hidden");
    for (const name of ["y1", "y2"]) line.setAttribute(name, at(level ?? 0));
  }
}
