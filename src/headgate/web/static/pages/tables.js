// Reference tables: how fresh they are, what refreshing them takes and brings, and why one could not be read.

import { h, put } from "../dom.js";
import { count, share, size, span, words } from "../format.js";
import { Grid } from "../grid.js";

const COLUMNS = [
  { key: "name", label: "table", words: true },
  { key: "state", label: "state", state: true },
  { key: "age", label: "age", format: span, title: "of the part that was read longest ago" },
  { key: "freshness", label: "fresh", format: share, title: "how much of it is likely to be as at the source" },
  { key: "perceived", label: "joins see", format: share, title: "how much of what queries look up is likely to be as at the source" },
  { key: "hourly", label: "changes/h", format: count, title: "of all parts, as learned" },
  { key: "accesses", label: "lookups", format: share, title: "the share of all lookups that are in this table" },
  { key: "every", label: "looked at every", format: span },
  { key: "max_age", label: "at most", format: span, title: "how old it is to become" },
  { key: "allowed_age", label: "allowed", format: span, title: "how old it becomes instead, as the budget allows no more refreshes" },
  { key: "refreshes", label: "refreshes", format: count, title: "and looks at a version that had not changed, which take a tenth of one from the budget" },
  { key: "changed", label: "changed", format: count, title: "refreshes that found something new" },
  { key: "failures", label: "failed", format: count },
  { key: "parts", label: "parts", format: count },
  { key: "bytes", label: "size", format: size },
  { key: "problem", label: "problem", words: true, wraps: true, format: words, title: "a click on a cell shows all of it" },
];

export default {
  title: "Tables",
  parts: ["tables", "refreshing"],
  mount(root, live) {
    const budget = h("p", { class: "lead" });
    const grid = new Grid(COLUMNS, { rowState: (row) => row.state, empty: "No reference table is registered." });
    root.append(budget, grid.element);
    return {
      update() {
        const [spent] = live.records("refreshing");
        const tables = live.records("tables");
        put(budget, spent ? said(spent) : tables.length ? "Tables are read once: there is no refresh budget." : "Nothing is refreshed.");
        grid.update(tables.map((each) => ({ ...each, hourly: hourly(each.change_rate), state: state(each, spent) })));
      },
      unmount: () => grid.remove?.(),
    };
  },
};

// Without a budget nobody reads it again.
const state = ({ problem }, budget) => (problem ? (budget ? "trying" : "failed") : "running");

const hourly = (rate) => (rate === null || rate === undefined ? null : 3600 * rate);

function said({ policy, budget, unit, period, used, allowed, perceived, gain }) {
  const amount = unit === "bytes" ? size(budget) : `${count(budget)} refreshes`;
  const more = gain === null ? "" : ` · one more ${unit === "bytes" ? "MB" : "refresh"} a minute would add ${(100 * gain).toFixed(1)} points`;
  return `by ${policy}: ${amount} in ${span(period)} · ${share(allowed ? used / allowed : NaN)} used · joins see ${share(perceived)} fresh${more}`;
}
