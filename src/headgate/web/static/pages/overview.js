// Who is on time, who is late, what is dropped: a card for each class, and how it came to that.

import { change } from "../changes.js";
import { Lines, Spark } from "../charts.js";
import { colour, ofStream } from "../colours.js";
import { badge, facts, h, put, showState } from "../dom.js";
import { count, lanes, number, share, span, times } from "../format.js";

// What is not 'so far' is of the last ten seconds, or as it is now.
const FACTS = ["target", "p50", "p99", "slack", "late", "p99 so far", "late so far", "share", "headroom", "load", "drops, last 10 s", "kept so far", "pending tuples", "queries"];

const WORST = ["late", "slipping", "on time"];
const DUE = ["queries", "windows done", "missed", "useful", "longest p99", "least slack", "planned, least", "kept, least"];

class Card {
  constructor(name) {
    this.state = badge();
    this.facts = facts(FACTS);
    this.spark = new Spark();
    this.priority = h("input", { type: "number", min: "0.1", step: "any", "aria-label": `Priority of ${name}` });
    const set = async (event) => {
      event.preventDefault();
      const done = await change(`/api/classes/${encodeURIComponent(name)}/priority`, { priority: this.priority.value });
      if (done) this.priority.value = "";
    };
    const form = h("form", { class: "inline", onsubmit: set }, h("label", null, "priority ", this.priority), h("button", null, "set"));
    const title = h("h2", null, h("span", { class: "swatch", style: `background:${colour(name)}` }), h("a", { href: `#/queries/${encodeURIComponent(name)}` }, name));
    this.note = h("p", { class: "note" });
    this.element = h("article", { class: "card", "data-class": name }, h("div", { class: "cardhead" }, title, this.state), this.spark.element, this.note, this.facts.element, form);
  }

  update(row, means) {
    showState(this.state, row.state);
    this.element.dataset.state = row.state;
    this.priority.placeholder = number(row.priority);
    this.spark.update(means, row.delay_target, colour(row.name));
    put(this.note, row.delay_target === null ? "mean response; there is no target" : "mean response; the dashes are the target");
    this.facts.show([
      row.delay_target === null ? "none" : span(row.delay_target), span(row.recent_p50), span(row.recent_p99), span(row.slack),
      share(row.recent_late), span(row.response_p99), share(row.late), share(row.share), lanes(row.headroom),
      times(row.usage), share(row.recent_dropped), share(row.kept), count(row.pending), count(row.queries),
    ]);
  }
}

// Queries with a deadline go before all classes and have no share: a card of their own for all of them.
class Due {
  constructor() {
    this.state = badge();
    this.facts = facts(DUE);
    this.note = h("p", { class: "note" }, "they go before all classes; each window is due by its deadline");
    const title = h("h2", null, h("span", { class: "swatch", style: `background:${colour(null)}` }), h("a", { href: "#/deadlines" }, "with a deadline"));
    this.element = h("article", { class: "card", "data-class": "with a deadline" }, h("div", { class: "cardhead" }, title, this.state), this.note, this.facts.element);
  }

  update(rows) {
    const sum = (name) => rows.reduce((all, row) => all + row[name], 0);
    const most = (name) => Math.max(...rows.map((row) => row[name] ?? -Infinity));
    const least = (name) => Math.min(...rows.map((row) => row[name] ?? Infinity));
    const state = WORST.find((each) => rows.some((row) => row.state === each)) ?? "waiting";
    showState(this.state, state);
    this.element.dataset.state = state;
    const closest = Math.min(...rows.map((row) => (row.finish_p99 === null ? Infinity : row.deadline - row.finish_p99)));
    this.facts.show([
      count(rows.length), count(sum("iterations")), count(sum("missed")), count(sum("useful")), span(most("finish_p99")), span(closest), share(least("planned")), share(least("kept")),
    ]);
  }
}

export default {
  title: "Overview",
  parts: ["history", "deadlines", "streams", "tables"],
  mount(root, live) {
    const cards = new Map();
    let due = null;
    const place = h("div", { class: "cards" });
    const said = new Said();
    const response = new Lines("mean response by class", { format: span });
    const rates = new Lines("tuples/s by stream", { look: ofStream });
    const busy = new Lines("lanes busy", { format: share, top: 1, look: ofStream });
    const pending = new Lines("tuples that wait, by class");
    root.append(said.element, place, h("div", { class: "charts" }, response.element, pending.element, rates.element, busy.element));
    return {
      update() {
        const classes = live.records("classes");
        const past = live.log("history");
        const times = past.map((each) => each.time);
        const of = (name, i) => past.map((each) => each.classes[name]?.[i]);
        for (const row of classes) {
          if (!cards.has(row.name)) {
            cards.set(row.name, new Card(row.name));
            place.append(cards.get(row.name).element);
          }
          cards.get(row.name).update(row, of(row.name, 2));
        }
        const deadlines = live.records("deadlines");
        if (deadlines.length) {
          due ??= new Due();
          if (place.lastChild !== due.element) place.append(due.element);
          due.update(deadlines);
        }
        const by = (i) => Object.fromEntries(classes.map((row) => [row.name, of(row.name, i)]));
        response.update(times, by(2));
        pending.update(times, by(7));
        const streams = Object.keys(past.at(-1)?.streams ?? {});
        rates.update(times, Object.fromEntries(streams.map((name) => [name, past.map((each) => each.streams[name])])));
        busy.update(times, { busy: past.map((each) => each.busy) });
        said.show([...troubles(live), ...fares(classes), drops(classes, live.records("totals")[0]?.shed), reduced(deadlines)]);
      },
      unmount: () => [response, rates, busy, pending].forEach((each) => each.remove?.()),
    };
  },
};

// What needs somebody comes first, each with a link to where it is.
function troubles(live) {
  const [all] = live.records("totals");
  const some = (part, href, is) => {
    const names = live.records(part).filter(is).map((row) => row.name);
    return { n: names.length, text: listed(names), href };
  };
  const due = (state) => some("deadlines", "#/deadlines", (row) => row.state === state);
  return [
    { bad: true, said: "failed queries", n: all?.failed, text: count(all?.failed), href: "#/queries/state=failed" },
    { bad: true, said: "failed streams", ...some("streams", "#/streams", (row) => row.status === "failed") },
    { bad: true, said: "failed tables", ...some("tables", "#/tables", (row) => row.problem) },
    { bad: true, said: "late deadlines", ...due("late") },
    { said: "queries that try again", n: all?.trying, text: count(all?.trying), href: "#/queries/state=trying" },
    { said: "slipping deadlines", ...due("slipping") },
    { said: "paused queries", n: all?.paused, text: count(all?.paused), href: "#/queries/state=paused" },
  ].filter((each) => each.n);
}

function fares(classes) {
  const found = ["late", "slipping", "on time"].map((state) => {
    const text = classes.filter((each) => each.state === state).map((each) => each.name).join(", ");
    return text && { said: state, text, bad: state === "late", href: state === "on time" ? null : "#/load" };
  });
  const some = found.filter((each) => each);
  return some.length ? some : [{ text: "no class has results and a delay target" }];
}

function drops(classes, shed) {
  const dropping = classes.filter((row) => row.recent_dropped >= 0.005);
  if (dropping.length) return { said: "dropped in the last 10 s", text: dropping.map((row) => `${row.name} ${share(row.recent_dropped)}`).join(", "), href: "#/load" };
  return { text: shed ? `nothing is dropped now, ${count(shed)} tuples were before` : "nothing was dropped" };
}

// Less is read of a window so that it is done in time: that is planned, and no drop of the class's load manager.
function reduced(deadlines) {
  const some = deadlines.filter((row) => row.planned !== null && row.planned < 0.995);
  return some.length ? { said: "windows are read in part", text: listed(some.map((row) => `${row.name} ${share(row.planned)}`)), href: "#/deadlines" } : null;
}

const NAMED = 4;
const listed = (names) => (names.length > NAMED ? `${names.slice(0, NAMED).join(", ")} and ${names.length - NAMED} more` : names.join(", "));

// A sentence of parts, which stay as they are where nothing has changed: somebody may be about to click.
class Said {
  constructor() {
    this.element = h("p", { class: "lead", id: "said" }, "…");
    this.known = "";
  }

  show(parts) {
    const some = parts.filter((each) => each);
    const known = JSON.stringify(some);
    if (known === this.known) return;
    this.known = known;
    const one = ({ said, text, href, bad }) => {
      const full = said ? `${said}: ${text}` : text;
      return h(href ? "a" : "span", { href, class: bad ? "bad" : null }, full);
    };
    this.element.replaceChildren(...some.flatMap((each, i) => (i ? [" · ", one(each)] : [one(each)])));
  }
}
