// The streams: what comes, what waits, and what could not be taken.

import { Lines } from "../charts.js";
import { change } from "../changes.js";
import { h } from "../dom.js";
import { count, size, span, value } from "../format.js";
import { Grid } from "../grid.js";

const COLUMNS = [
  { key: "name", label: "stream", words: true },
  { key: "status", label: "state", state: true },
  { key: "rate", label: "tuples/s", format: count },
  { key: "tuples", label: "tuples", format: count },
  { key: "pending", label: "pending", format: count, title: "tuples that wait for the query that is furthest behind" },
  { key: "oldest_wait", label: "oldest wait", format: span },
  { key: "behind", label: "watermark behind", format: span, title: "the clock less the watermark" },
  { key: "late", label: "late", format: count, title: "tuples that came behind the watermark" },
  { key: "rejected", label: "rejected", format: (given) => value("rejected", given) },
  { key: "trains", label: "trains", format: count },
  { key: "bytes", label: "size", format: size },
  { key: "reason", label: "reason", words: true },
];

export default {
  title: "Streams",
  parts: ["streams", "history"],
  mount(root, live) {
    const grid = new Grid(COLUMNS, { rowState: (row) => row.status });
    const rates = new Lines("tuples/s", { height: 240 });
    const actions = h("div", { class: "actions" });
    root.append(grid.element, h("div", { class: "charts wide" }, rates.element), actions);
    return {
      update() {
        const streams = live.records("streams");
        grid.update(streams);
        const past = live.log("history");
        if (actions.childElementCount === 0) {
          for (const { name } of streams) {
            const act = (what) => h("button", { type: "button", onclick: () => change(`/api/streams/${encodeURIComponent(name)}/${what}`) }, `${what} ${name}`);
            actions.append(act("pause"), act("resume"));
          }
        }
        const of = (name) => past.map((each) => each.streams[name]);
        rates.update(past.map((each) => each.time), Object.fromEntries(streams.map(({ name }) => [name, of(name)])));
      },
      unmount: () => [grid, rates].forEach((each) => each.remove?.()),
    };
  },
};
