// One query: its text, how it is evaluated and why so, what it costs, its results and its latest runs with their reasons.

import { change } from "../changes.js";
import { badge, facts, h, put, showState } from "../dom.js";
import { clock, count, number, share, span, value, words } from "../format.js";
import { Grid } from "../grid.js";

const EVERY = 1000;
const FACTS = ["class", "unit", "evaluated", "runs in", "window", "reads", "sink", "pending", "oldest wait", "results", "p50", "p99", "slowdown", "QoS", "kept"];
const COSTS = ["a, per run", "b, per 1000 tuples", "S, results per tuple", "mean train", "runs", "busy"];
const RUNS = [
  { key: "started", label: "began", format: clock, words: true },
  { key: "took", label: "took", format: span },
  { key: "n", label: "tuples", format: count },
  { key: "results", label: "results", format: count },
  { key: "why", label: "why it was chosen", words: true },
  { key: "over", label: "rather than", words: true },
  { key: "error", label: "error", words: true },
];

export const why = (formula, terms) =>
  `${formula}: ${Object.entries(terms).map(([name, each]) => `${name} = ${number(each)}`).join(", ")}`;

export default {
  title: "Query",
  parts: [],
  mount(root, live, name) {
    const state = badge();
    const reason = h("p", { class: "problem", hidden: true });
    const act = (what) => h("button", { type: "button", onclick: () => change(`/api/queries/${encodeURIComponent(name)}/${what}`) }, what);
    root.firstChild.replaceChildren(name, " ", state);
    const sql = h("pre", { class: "sql", tabindex: "0" });
    const told = h("p", { id: "fused" });
    const steps = h("pre", { class: "sql", tabindex: "0" });
    const [known, cost] = [facts(FACTS), facts(COSTS)];
    const deadline = h("div");
    const runs = new Grid(RUNS, { sort: "started", down: true, empty: "It has not run since somebody watches." });
    const results = h("div");
    root.append(
      h("p", { class: "actions" }, act("pause"), act("resume")), reason,
      h("div", { class: "columns" }, h("section", null, h("h2", null, "SQL"), sql, h("h2", null, "Together or alone"), told, h("h2", null, "Plan"), steps), h("section", { class: "roomy" }, h("h2", null, "How it fares"), known.element)),
      h("section", { class: "roomy" }, h("h2", null, "What a run costs"), cost.element), deadline,
      h("section", null, h("h2", null, "Latest runs of its unit, and why"), runs.element),
      h("section", null, h("h2", null, "Latest results"), results),
    );
    let due = 0;
    const show = (found) => {
      const row = found.status;
      put(sql, found.sql);
      put(told, found.why_not ? `Spark runs it by itself: ${found.why_not}.` : `The kernel can run it together with others; its unit is ${row?.unit ?? "not made yet"}.`);
      put(steps, found.steps.join("\n\n"));
      if (row) {
        const current = live.parts.classes?.get(row.cls);
        const late = current?.delay_target && row.response_p99 > current.delay_target;
        showState(state, row.status !== "running" ? row.status : row.reason ? "trying" : late ? "late" : current?.delay_target && row.results ? "on time" : "running");
        reason.hidden = !row.reason;
        put(reason, row.reason ?? "");
        known.show([
          row.cls, row.unit, found.evaluation, found.runner, found.window ?? "none", [...found.wiring.streams, ...found.wiring.tables].join(", "),
          found.wiring.sink, count(row.pending), span(row.oldest_wait), count(row.results), span(row.response_p50), span(row.response_p99),
          number(row.slowdown_mean), share(row.qos), share(row.tuples ? 1 - row.shed / row.tuples : 1),
        ]);
        cost.show([span(row.a), span(1000 * row.b), number(row.selectivity), count(row.mean_train), count(row.runs), span(row.busy)]);
      }
      if (found.deadline) {
        const list = facts(Object.keys(found.deadline).map((each) => each.replaceAll("_", " ")));
        list.show(Object.entries(found.deadline).map(([key, each]) => value(key, each)));
        deadline.replaceChildren(h("h2", null, "Deadline"), list.element);
      }
      runs.update(found.runs.map((run) => ({ ...run, took: run.finished - run.started, why: why(run.formula, run.terms), over: words(run.over), error: words(run.error) })));
      results.replaceChildren(table(found.results));
    };
    const ask = async () => {
      const answer = await fetch(`/api/queries/${encodeURIComponent(name)}`);
      const found = await answer.json();
      if (answer.ok) show(found);
      else put(told, found.error);
    };
    return {
      update() {
        if (performance.now() < due) return;
        due = performance.now() + EVERY;
        ask().catch(() => null);
      },
      unmount: () => runs.remove(),
    };
  },
};

function table(found) {
  if (!found) return h("p", { class: "empty" }, "They are where its sink has put them, not in memory.");
  if (!found.rows.length) return h("p", { class: "empty" }, "None yet.");
  const head = h("tr", null, found.columns.map((name) => h("th", { scope: "col" }, name)));
  const rows = found.rows.map((row) => h("tr", null, row.map((each) => h("td", null, String(each ?? "null")))));
  return h("div", { class: "scroll", tabindex: "0" }, h("table", { class: "grid" }, h("thead", null, head), h("tbody", null, rows)));
}
