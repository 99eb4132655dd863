// One query: its text, how it is evaluated and why so, what it costs, its results and its latest runs with their reasons.

import { pausing } from "../changes.js";
import { badge, facts, h, put, showState } from "../dom.js";
import { count, instant, number, share, span, words } from "../format.js";
import { Grid } from "../grid.js";
import { moment } from "./why.js";

const EVERY = 1000;
const SELDOM = 10000;
const FACTS = ["class", "unit", "evaluated", "runs in", "window", "reads", "sink", "pending tuples", "oldest wait", "results", "target", "p50, last 10 s", "p99, last 10 s", "slack", "p50 so far", "p99 so far", "slowdown", "QoS", "kept", "dropped"];
const COSTS = ["a, per run", "b, per 1000 tuples", "S, results per tuple", "mean train", "runs", "busy"];
const DUE = ["every", "due in", "weight", "windows done", "missed", "useful", "planned", "kept", "demand", "p50", "p99", "longest", "why it was last late"];
const RUNS = [
  { key: "started", label: "began", format: instant, words: true, href: (run) => moment(run.started), title: "why, and who else waited" },
  { key: "took", label: "took", format: span },
  { key: "n", label: "tuples", format: count },
  { key: "results", label: "results", format: count },
  { key: "why", label: "why it was chosen", words: true, wraps: true },
  { key: "over", label: "rather than", words: true },
  { key: "error", label: "error", words: true },
];

// What decided and how long the oldest tuple had waited come first, the formula last: cells are cut off.
const FIRST = ["priority", "W"];

export function why(formula, terms) {
  const names = [...FIRST.filter((name) => name in terms), ...Object.keys(terms).filter((name) => !FIRST.includes(name))];
  return [names.map((name) => `${name} = ${number(terms[name])}`).join(", "), formula].filter((each) => each).join(" · ");
}

export default {
  title: "Query",
  parts: [],
  mount(root, live, name) {
    const state = badge();
    const reason = h("p", { class: "problem", hidden: true });
    const pause = pausing(`/api/queries/${encodeURIComponent(name)}`);
    root.firstChild.replaceChildren(name, " ", state);
    const sql = h("pre", { class: "sql", tabindex: "0" });
    const told = h("p", { id: "fused" });
    const steps = h("pre", { class: "sql", tabindex: "0" });
    const [known, cost] = [facts(FACTS), facts(COSTS)];
    const due = facts(DUE);
    const deadline = h("section", { class: "roomy", hidden: true }, h("h2", null, "Deadline"), due.element);
    const runs = new Grid(RUNS, { sort: "started", down: true, empty: "It has not run since the dashboard was started." });
    const results = h("div");
    const missing = h("p", { class: "problem", hidden: true });
    const all = h("div", { hidden: true },
      h("p", { class: "actions" }, pause.element), reason,
      h("div", { class: "columns" }, h("section", null, h("h2", null, "SQL"), sql, h("h2", null, "Together or alone"), told, h("h2", null, "Plan"), steps), h("section", { class: "roomy" }, h("h2", null, "How it fares"), known.element)),
      h("section", { class: "roomy" }, h("h2", null, "What a run costs"), cost.element), deadline,
      h("section", null, h("h2", null, "Latest runs of its unit, and why"), runs.element),
      h("section", null, h("h2", null, "Latest results"), results),
    );
    root.append(all, missing);
    let next = 0;
    const show = (found) => {
      const row = found.status;
      put(sql, found.sql);
      put(told, found.why_not ? `Spark runs it by itself: ${found.why_not}.` : `The kernel can run it together with others; its unit is ${row?.unit ?? "not made yet"}.`);
      put(steps, found.steps.join("\n\n"));
      if (row) {
        showState(state, row.state);
        pause.show(row.state);
        reason.hidden = !row.reason;
        put(reason, row.reason ?? "");
        known.show([
          row.cls, row.unit, found.evaluation, found.runner, found.window ?? "none", [...found.wiring.streams, ...found.wiring.tables].join(", "),
          found.wiring.sink, count(row.pending), span(row.oldest_wait), count(row.results), span(row.target), span(row.recent_p50), span(row.recent_p99), span(row.slack), span(row.response_p50), span(row.response_p99),
          number(row.slowdown_mean), share(row.qos), share(row.tuples ? 1 - row.shed / row.tuples : 1), count(row.shed),
        ]);
        cost.show([span(row.a), span(1000 * row.b), number(row.selectivity), count(row.mean_train), count(row.runs), span(row.busy)]);
      }
      const kept = found.deadline;
      deadline.hidden = !kept;
      if (kept) {
        due.show([
          span(kept.stride), span(kept.deadline), number(kept.weight), count(kept.iterations), count(kept.missed), count(kept.useful), share(kept.planned), share(kept.kept),
          span(kept.demand), span(kept.finish_p50), span(kept.finish_p99), span(kept.worst), words(kept.reason),
        ]);
      }
      runs.update(found.runs.map((run) => ({ ...run, took: run.finished - run.started, why: why(run.formula, run.terms), over: words(run.over), error: words(run.error) })));
      results.replaceChildren(table(found.results));
    };
    const ask = async () => {
      const answer = await fetch(`/api/queries/${encodeURIComponent(name)}`);
      const found = await answer.json();
      // A query that is not there has neither figures nor buttons.
      missing.hidden = answer.ok;
      all.hidden = state.hidden = !answer.ok;
      if (answer.ok) return show(found);
      put(missing, found.error);
      next = performance.now() + SELDOM;
    };
    return {
      update() {
        if (performance.now() < next) return;
        next = performance.now() + EVERY;
        ask().catch(() => null);
      },
      unmount: () => runs.remove(),
    };
  },
};

function table(found) {
  if (!found) return h("p", { class: "empty" }, "They are where its sink has put them, not in memory.");
  if (!found.rows.length) return h("p", { class: "empty" }, "None yet.");
  const looks = found.columns.map((_, i) => ({ class: found.rows.some((row) => typeof row[i] === "string") ? "words" : null }));
  const head = h("tr", null, found.columns.map((name, i) => h("th", { scope: "col", ...looks[i] }, name)));
  const rows = found.rows.map((row) => h("tr", null, row.map((each, i) => h("td", looks[i], String(each ?? "null")))));
  return h("div", { class: "scroll", tabindex: "0" }, h("table", { class: "grid" }, h("thead", null, head), h("tbody", null, rows)));
}
