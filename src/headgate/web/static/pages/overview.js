// Who is on time, who is late, what is dropped: a card for each class, and how it came to that.

import { change } from "../changes.js";
import { Lines, Spark } from "../charts.js";
import { colour } from "../colours.js";
import { badge, facts, h, put, showState } from "../dom.js";
import { count, number, share, span } from "../format.js";

const FACTS = ["target", "p50", "p99", "slack", "late, last 10 s", "share", "headroom", "load", "dropped now", "kept", "pending", "queries"];

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
    this.note = h("p", { class: "note" }, "mean response; the dashes are the target");
    this.element = h("article", { class: "card", "data-class": name }, h("div", { class: "cardhead" }, title, this.state), this.spark.element, this.note, this.facts.element, form);
  }

  update(row, means) {
    showState(this.state, row.state);
    this.element.dataset.state = row.state;
    this.priority.placeholder = number(row.priority);
    this.spark.update(means, row.delay_target, colour(row.name));
    this.facts.show([
      row.delay_target === null ? "none" : span(row.delay_target), span(row.response_p50), span(row.response_p99), span(row.slack),
      share(row.recent_late), share(row.share), row.headroom === null ? "–" : `${number(row.headroom)} lanes`,
      share(row.usage), share(row.drop), share(row.kept), count(row.pending), count(row.queries),
    ]);
  }
}

export default {
  title: "Overview",
  parts: ["history"],
  mount(root, live) {
    const cards = new Map();
    const place = h("div", { class: "cards" });
    const said = h("p", { class: "lead", id: "said" }, "…");
    const response = new Lines("mean response by class, s");
    const rates = new Lines("tuples/s by stream");
    const busy = new Lines("lanes busy", { format: "0%", top: 1 });
    const pending = new Lines("tuples that wait, by class");
    root.append(said, place, h("div", { class: "charts" }, response.element, pending.element, rates.element, busy.element));
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
        const by = (i) => Object.fromEntries(classes.map((row) => [row.name, of(row.name, i)]));
        response.update(times, by(2));
        pending.update(times, by(7));
        const streams = Object.keys(past.at(-1)?.streams ?? {});
        rates.update(times, Object.fromEntries(streams.map((name) => [name, past.map((each) => each.streams[name])])));
        busy.update(times, { busy: past.map((each) => each.busy) });
        put(said, sentence(classes));
      },
      unmount: () => [response, rates, busy, pending].forEach((each) => each.remove?.()),
    };
  },
};

function sentence(classes) {
  const named = (state) => classes.filter((each) => each.state === state).map((each) => each.name).join(", ");
  const dropping = classes.filter((each) => each.drop > 0).map((each) => `${each.name} ${share(each.drop)}`).join(", ");
  const parts = ["late", "slipping", "on time"].map((state) => [state, named(state)]).filter(([, some]) => some);
  const fares = parts.map(([state, some]) => `${state}: ${some}`).join(" · ") || "no class has results and a delay target";
  return `${fares} · ${dropping ? `dropped now: ${dropping}` : "nothing is dropped"}`;
}
