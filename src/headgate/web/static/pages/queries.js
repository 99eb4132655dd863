// All queries: sorted, searched and filtered as one types.

import { h, put } from "../dom.js";
import { count, number, share, span, words } from "../format.js";
import { Grid } from "../grid.js";

export const link = (record) => `#/query/${encodeURIComponent(record.name)}`;

const COLUMNS = [
  { key: "name", label: "query", words: true, href: link },
  { key: "cls", label: "class", words: true },
  { key: "state", label: "state", state: true },
  { key: "pending", label: "pending tuples", format: count, title: "that wait for it" },
  { key: "oldest_wait", label: "waits", format: span, title: "how long the oldest of them waits" },
  { key: "results", label: "results", format: count },
  { key: "recent_p50", label: "p50", format: span, title: "response time of the last ten seconds, or of what came last" },
  { key: "recent_p99", label: "p99", format: span, title: "response time of the last ten seconds, or of what came last" },
  { key: "target", label: "target", format: span, title: "the delay target of its class, or its deadline" },
  { key: "slack", label: "slack", format: span, title: "target less p99 of the last ten seconds" },
  { key: "response_p99", label: "p99 so far", format: span, title: "response time since the policy began" },
  { key: "qos", label: "QoS", format: share, title: "what results were worth by the QoS graph" },
  { key: "kept", label: "kept", format: share, title: "share of the tuples that was not dropped" },
  { key: "shed", label: "dropped", format: count },
  { key: "a", label: "a", format: span, title: "a run over n tuples takes a + b·n" },
  { key: "b", label: "b·1000", format: (b) => span(1000 * b), title: "a run over n tuples takes a + b·n" },
  { key: "selectivity", label: "S", format: number, title: "results per tuple" },
  { key: "unit", label: "unit", words: true, format: (unit, row) => (unit === row.name ? "its own" : words(unit)) },
];

export default {
  title: "Queries",
  parts: ["queries"],
  mount(root, live, chosen) {
    const search = h("input", { type: "search", placeholder: "search names", "aria-label": "Search names" });
    const cls = h("select", { "aria-label": "Class" }, h("option", { value: "" }, "all classes"));
    const state = h("select", { "aria-label": "State" }, h("option", { value: "" }, "all states"));
    const shown = h("output", { class: "note" });
    const grid = new Grid(COLUMNS, { rowState: (row) => row.state, empty: "No query is like that." });
    grid.element.classList.add("tall");
    root.append(h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() }, search, cls, state, shown), grid.element);
    let wanted = chosen;
    const offer = (select, values) => {
      for (const value of values) {
        if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
      }
    };
    const update = () => {
      const all = live.records("queries");
      offer(cls, new Set(all.map((row) => row.cls)));
      offer(state, new Set(all.map((row) => row.state)));
      if (wanted && all.length) {
        const [name, one] = wanted.startsWith("state=") ? [state, wanted.slice(6)] : [cls, wanted];
        offer(name, [one]);
        [name.value, wanted] = [one, null];
      }
      const text = search.value.toLowerCase();
      const some = all.filter(
        (row) => (!cls.value || row.cls === cls.value) && (!state.value || row.state === state.value) && row.name.toLowerCase().includes(text),
      );
      const [totals] = live.records("totals");
      const more = totals?.unlisted ? `; ${count(totals.unlisted)} more are not listed` : "";
      put(shown, `${some.length} of ${all.length}${more}`);
      grid.update(some);
    };
    for (const each of [search, cls, state]) each.addEventListener("input", update);
    return { update, unmount: () => grid.remove() };
  },
};
