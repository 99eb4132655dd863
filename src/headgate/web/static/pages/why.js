// Why: a moment of the run, a tuple or a query, in the words of `headgate explain`.

import { ask } from "../changes.js";
import { h } from "../dom.js";

const FIELDS = [
  ["at", "moment", "now, or 12.5s, -5s, 14:03:22 …"],
  ["tuple", "tuple", "of a stream, such as ticks:1200"],
  ["query", "query", "its name"],
];

export const moment = (seconds) => `#/why/${encodeURIComponent(new Date(1000 * seconds).toISOString())}`;

export default {
  title: "Why",
  parts: [],
  mount(root, live, at) {
    const inputs = FIELDS.map(([name, label, hint]) => h("label", null, label, " ", h("input", { name, placeholder: hint, size: 30 })));
    const button = h("button", { type: "submit" }, "explain");
    const answer = h("div", { "aria-live": "polite" });
    const form = h("form", { class: "whatif", onsubmit: submit }, inputs, button);
    root.append(
      h("p", null, "Why a lane ran what it did at a moment and who else waited; what became of a tuple; with whom a query runs, what it loses, and why it was late or refused."),
      form,
      answer,
    );
    if (at) {
      form.elements.at.value = at;
      form.requestSubmit();
    }

    async function submit(event) {
      event.preventDefault();
      button.disabled = true;
      answer.replaceChildren(h("p", null, "reading the record …"));
      const found = await ask("/api/explain", Object.fromEntries(new FormData(form)));
      button.disabled = false;
      answer.replaceChildren(...(found ? [h("pre", { class: "sql", tabindex: "0" }, found.text)] : []));
    }

    return { update() {} };
  },
};
