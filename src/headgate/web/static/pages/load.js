// Load management over time: who has which share of the time, how much it asks for, and what is dropped for that.

import { Lines } from "../charts.js";
import { h } from "../dom.js";
import { lanes, number, share, times, words } from "../format.js";
import { Grid } from "../grid.js";

const CHARTS = [
  ["share of the time", 3, { format: share, top: 1, height: 220 }],
  ["dropped, part of the tuples", 4, { format: share, top: 0.1, height: 220 }],
  ["load against headroom, up to 400 %", 5, { format: share, top: 1, most: 4, height: 220 }],
  ["headroom, lanes", 6, { format: number, height: 220 }],
];
const COLUMNS = [
  { key: "name", label: "class", words: true },
  { key: "state", label: "state", state: true },
  { key: "priority", label: "priority", format: number },
  { key: "share", label: "share", format: share },
  { key: "headroom", label: "headroom", format: lanes, title: "seconds of work per second that the load manager counts on" },
  { key: "usage", label: "load", format: times, title: "offered load against headroom" },
  { key: "drop", label: "dropped now", format: share },
  { key: "kept", label: "kept so far", format: share },
  { key: "order", label: "why", words: true, wraps: true, format: words, title: "how the load manager comes to what is dropped: its formula, and the numbers in it. The letters are explained in the documentation; a click on a cell shows all of it" },
];

export default {
  title: "Load",
  parts: ["history"],
  mount(root, live) {
    const charts = CHARTS.map(([title, figure, options]) => ({ lines: new Lines(title, options), figure }));
    const grid = new Grid(COLUMNS, { sort: "priority", down: true });
    root.append(grid.element, h("div", { class: "charts" }, charts.map(({ lines }) => lines.element)));
    return {
      update() {
        const classes = live.records("classes");
        const past = live.log("history");
        grid.update(classes);
        const times = past.map((each) => each.time);
        for (const { lines, figure } of charts) {
          lines.update(times, Object.fromEntries(classes.map(({ name }) => [name, past.map((each) => each.classes[name]?.[figure])])));
        }
      },
      unmount: () => [grid, ...charts.map(({ lines }) => lines)].forEach((each) => each.remove?.()),
    };
  },
};
