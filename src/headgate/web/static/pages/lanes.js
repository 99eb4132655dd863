// The lanes: what ran when, of which class, and why.

import { Timeline, legend, wall } from "../charts.js";
import { colour } from "../colours.js";
import { h, put } from "../dom.js";
import { clock, count, span, words } from "../format.js";
import { Grid } from "../grid.js";
import { why } from "./query.js";
import { moment } from "./why.js";

const SECONDS = 60;
const LATEST = 40;
const COLUMNS = [
  { key: "started", label: "began", format: clock, words: true, href: (run) => moment(run.started), title: "why, and who else waited" },
  { key: "lane", label: "lane", words: true },
  { key: "unit", label: "unit", words: true },
  { key: "cls", label: "class", words: true },
  { key: "took", label: "took", format: span },
  { key: "n", label: "tuples", format: count },
  { key: "results", label: "results", format: count },
  { key: "why", label: "why it was chosen", words: true },
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
    const grid = new Grid(COLUMNS, { sort: "started", down: true, empty: "Nothing has run since somebody watches." });
    root.append(now, names, timeline.element, h("h2", null, "Latest runs"), grid.element);
    return {
      update() {
        const lanes = live.records("lanes");
        put(now, lanes.map((lane) => `${lane.name}: ${lane.running ?? "idle"}`).join(" · "));
        const runs = live.log("runs").filter((run) => run[4] > live.time - SECONDS).map((run) => record(run, lanes));
        // Queries without a class of their own have one that is not listed.
        const classes = [...new Set([...live.records("classes").map((each) => each.name), ...runs.map((run) => run.cls)])];
        if (classes.join() !== known) {
          known = classes.join();
          names.replaceChildren(legend(classes));
        }
        const column = (of) => runs.map(of);
        timeline.update(live.time, lanes.map((lane) => lane.name), {
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
        grid.update(runs.slice(-LATEST));
      },
      unmount: () => [timeline, grid].forEach((each) => each.remove?.()),
    };
  },
};

function record([lane, unit, cls, started, finished, n, results, formula, terms, over, error], lanes) {
  const named = lanes[lane]?.name ?? `lane ${lane + 1}`;
  const told = { why: why(formula, terms), over: words(over), error: words(error) };
  return { name: unit, lane: named, unit, cls: cls ?? "gone", started, finished, took: finished - started, n, results, ...told };
}
