// Queries with a deadline: how many of their windows were in time, over how much of their tuples, and why not; and who
// was refused, or taken in with less.

import { h, put } from "../dom.js";
import { clock, count, number, share, span, words } from "../format.js";
import { Grid } from "../grid.js";
import { link } from "./queries.js";

const COLUMNS = [
  { key: "name", label: "query", words: true, href: link },
  { key: "state", label: "state", state: true },
  { key: "stride", label: "every", format: span },
  { key: "deadline", label: "due in", format: span, title: "from the end of the window" },
  { key: "weight", label: "weight", format: number },
  { key: "iterations", label: "due", format: count, title: "windows that are done or should be" },
  { key: "missed", label: "missed", format: count },
  { key: "recent_missed", label: "missed now", format: share, title: "part of the windows that ended in the last ten seconds; of the last that did if none has" },
  { key: "useful", label: "useful", format: count, title: "in time, over enough of the window to say something" },
  { key: "planned", label: "planned", format: share, title: "share of a window that is kept now" },
  { key: "kept", label: "kept", format: share, title: "share of the tuples that was kept" },
  { key: "demand", label: "demand", format: span, title: "time of an iteration with nothing dropped" },
  { key: "finish_p50", label: "p50", format: span },
  { key: "finish_p99", label: "p99", format: span },
  { key: "worst", label: "longest", format: span },
  { key: "reason", label: "why it was last late", words: true, wraps: true, format: words, title: "a click on a cell shows all of it" },
];

const REFUSED = [
  { key: "time", label: "asked at", format: clock, words: true },
  { key: "name", label: "query", words: true },
  { key: "answer", label: "answer", words: true },
  { key: "why", label: "why, and what would fit", words: true, wraps: true, title: "a click on a cell shows all of it" },
];

export default {
  title: "Deadlines",
  parts: ["deadlines", "refused"],
  mount(root, live) {
    const grid = new Grid(COLUMNS, { rowState: (row) => row.state, empty: "No query has a deadline." });
    const refused = new Grid(REFUSED, { sort: "time", down: true, empty: "No query was refused, or taken in with less, since the dashboard was started." });
    const load = h("p", { class: "note" });
    root.append(grid.element, load, h("h2", null, "Refused, or taken in with less"), refused.element);
    return {
      update() {
        const rows = live.records("deadlines");
        const asked = rows.reduce((sum, row) => sum + (row.demand ?? 0) / row.stride, 0);
        put(load, rows.length ? `They ask for ${share(asked)} of a lane's time with nothing dropped; one lane serves them all.` : "");
        grid.update(rows);
        refused.update(live.log("refused").map(([time, name, answer, why]) => ({ time, name, answer, why })));
      },
      unmount: () => [grid, refused].forEach((each) => each.remove()),
    };
  },
};
