// The streams: what comes, what waits, and what could not be taken.

import { Lines } from "../charts.js";
import { pausing } from "../changes.js";
import { ofStream } from "../colours.js";
import { h } from "../dom.js";
import { count, moment, size, span, value } from "../format.js";
import { Grid } from "../grid.js";

const COLUMNS = [
  { key: "name", label: "stream", words: true },
  { key: "status", label: "state", state: true },
  { key: "rate", label: "tuples/s", format: count },
  { key: "tuples", label: "tuples", format: count },
  { key: "waiting", label: "pending tuples", format: count, title: "tuples that wait for the query that is furthest behind" },
  { key: "pending", label: "pending trains", format: count, title: "trains that are pending: not every query for which tuples wait has come to their end" },
  { key: "oldest_wait", label: "oldest wait", format: span },
  { key: "watermark", label: "watermark", format: moment, title: "the event time up to which all tuples are taken to be there" },
  { key: "behind", label: "behind the clock", format: (given, row) => (given === null && row.watermark !== null ? "replayed" : span(given)), title: "how far the watermark is; event times of another day are replayed, and say nothing of a lag" },
  { key: "late", label: "late", format: count, title: "tuples that came behind the watermark" },
  { key: "rejected", label: "rejected", format: (given) => value("rejected", given) },
  { key: "trains", label: "trains kept", format: count },
  { key: "bytes", label: "size", format: size },
  { key: "reason", label: "reason", words: true },
];

export default {
  title: "Streams",
  parts: ["streams", "history"],
  mount(root, live) {
    const grid = new Grid(COLUMNS, { rowState: (row) => row.status });
    const rates = new Lines("tuples/s", { height: 240, look: ofStream });
    const actions = h("div", { class: "actions" });
    const buttons = new Map();
    root.append(grid.element, h("div", { class: "charts wide" }, rates.element), actions);
    return {
      update() {
        const streams = live.records("streams");
        grid.update(streams);
        const past = live.log("history");
        for (const { name, status } of streams) {
          if (!buttons.has(name)) {
            buttons.set(name, pausing(`/api/streams/${encodeURIComponent(name)}`, name));
            actions.append(buttons.get(name).element);
          }
          buttons.get(name).show(status);
        }
        const of = (name) => past.map((each) => each.streams[name]);
        rates.update(past.map((each) => each.time), Object.fromEntries(streams.map(({ name }) => [name, of(name)])));
      },
      unmount: () => [grid, rates].forEach((each) => each.remove?.()),
    };
  },
};
