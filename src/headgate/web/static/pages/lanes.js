// The lanes: what ran when, of which class, and why.

import { Timeline, legend, wall } from "../charts.js";
import { colour } from "../colours.js";
import { h, put } from "../dom.js";
import { count, instant, span, words } from "../format.js";
import { Grid } from "../grid.js";
import { why } from "./query.js";
import { moment } from "./why.js";

const SPANS = [2, 10, 60];
const SECONDS = 60;
const LATEST = 40;
const CUT = 1500;
const COLUMNS = [
  { key: "started", label: "began", format: instant, words: true, href: (run) => moment(run.started), title: "why, and who else waited" },
  { key: "lane", label: "lane", words: true },
  { key: "unit", label: "unit", words: true },
  { key: "cls", label: "class", words: true },
  { key: "took", label: "took", format: span },
  { key: "n", label: "tuples", format: count },
  { key: "results", label: "results", format: count },
  { key: "why", label: "why it was chosen", words: true, wraps: true, title: "a click on a cell shows all of it" },
  { key: "over", label: "rather than", words: true },
];

export default {
  title: "Lanes",
  parts: ["lanes", "runs"],
  mount(root, live) {
    const timeline = new Timeline(SECONDS);
    const now = h("p", { class: "lead" });
    const names = h("div");
    let known = "";
    let seen = null;
    let frozen = false;
    const spans = h("select", { "aria-label": "Span", oninput: () => show() }, SPANS.map((each) => h("option", { value: each, selected: each === SECONDS }, `${each} s`)));
    const freeze = h("button", { type: "button", "aria-pressed": "false", onclick: turn }, "freeze");
    const grid = new Grid(COLUMNS, { sort: "started", down: true, empty: "Nothing has run since the dashboard was started." });
    root.append(now, h("div", { class: "filters" }, spans, freeze, names), timeline.element, h("h2", null, "Latest runs"), grid.element);

    function turn() {
      frozen = !frozen;
      freeze.setAttribute("aria-pressed", frozen);
      put(freeze, frozen ? "go on" : "freeze");
      if (!frozen) update();
    }

    function update() {
      if (frozen) return;
      const lanes = live.records("lanes");
      const all = live.log("runs");
      const runs = all.filter((run) => run[4] > live.time - SECONDS).map((run) => record(run, lanes));
      // Queries without a class of their own have one that is not listed.
      const classes = [...new Set([...live.records("classes").map((each) => each.name), ...runs.map((run) => run.cls)])];
      // Of very many runs the first are not known: lanes that were busy must not look as if they had been idle.
      seen = { time: live.time, lanes, runs, since: all.length < CUT ? -Infinity : all[0][3] };
      put(now, lanes.map((lane) => `${lane.name}: ${lane.running ?? "idle"}`).join(" · "));
      if (classes.join() !== known) {
        known = classes.join();
        names.replaceChildren(legend(classes));
      }
      show();
      grid.update(runs.slice(-LATEST));
    }

    function show() {
      if (!seen) return;
      timeline.seconds = Number(spans.value);
      const runs = seen.runs.filter((run) => run.finished > seen.time - timeline.seconds);
      const column = (of) => runs.map(of);
      const begin = Math.max(seen.since, seen.time - timeline.seconds);
      timeline.update(begin, seen.time, seen.lanes.map((lane) => lane.name), {
        left: column((run) => wall(run.started)),
        right: column((run) => wall(Math.max(run.finished, run.started + 0.002))),
        lane: column((run) => run.lane),
        colour: column((run) => colour(run.cls)),
        unit: column((run) => run.unit),
        cls: column((run) => run.cls),
        took: column((run) => span(run.took)),
        n: column((run) => run.n),
        results: column((run) => run.results),
        why: column((run) => run.why),
        over: column((run) => run.over),
        error: column((run) => run.error),
      });
    }

    return { update, unmount: () => [timeline, grid].forEach((each) => each.remove?.()) };
  },
};

function record([lane, unit, cls, started, finished, n, results, formula, terms, over, error], lanes) {
  const named = lanes[lane]?.name ?? `lane ${lane + 1}`;
  const told = { why: why(formula, terms), over: words(over), error: words(error) };
  return { name: unit, lane: named, unit, cls: cls ?? "gone", started, finished, took: finished - started, n, results, ...told };
}
