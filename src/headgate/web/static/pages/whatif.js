// What if: this run so far under other choices, as the simulator predicts it, beside what was measured.

import { ask } from "../changes.js";
import { h } from "../dom.js";
import { span } from "../format.js";

const FIELDS = [
  ["policy", "policy", "as it is, or bsd, cqc, fcfs …"],
  ["shed", "load management", "as it is, or none, dilos, separate …"],
  ["rate", "rate", "1x, 2x, 0.5x …"],
  ["lanes", "lanes of each kind", "as it is, or 4 …"],
];
const CASES = [
  ["measured", "measured"],
  ["predicted", "predicted as it is"],
  ["whatif", "predicted as asked"],
];

export default {
  title: "What if",
  parts: [],
  mount(root) {
    const inputs = FIELDS.map(([name, label, hint]) => h("label", null, label, " ", h("input", { name, placeholder: hint, size: 26 })));
    const button = h("button", { type: "submit" }, "predict");
    const answer = h("div", { "aria-live": "polite" });
    const form = h("form", { class: "whatif", onsubmit: submit }, inputs, button);
    root.append(
      h("p", null, "The run so far, replayed in the simulator under other choices. How far the second row of a class is from the first says how far to trust the third."),
      form,
      answer,
    );

    async function submit(event) {
      event.preventDefault();
      button.disabled = true;
      answer.replaceChildren(h("p", null, "replaying …"));
      const found = await ask("/api/whatif", Object.fromEntries(new FormData(form)));
      button.disabled = false;
      answer.replaceChildren(...(found ? shown(found) : []));
    }

    return { update() {} };
  },
};

function shown(found) {
  const names = [...new Set(CASES.flatMap(([key]) => Object.keys(found[key]?.classes ?? {})))];
  const rows = names.flatMap((name) =>
    CASES.filter(([key]) => found[key]).map(([key, label], i) => {
      const fate = found[key].classes[name];
      const cells = fate ? [span(fate.mean), span(fate.p99), `${(100 * fate.loss).toFixed(1)} %`] : ["–", "–", "–"];
      return h("tr", null, h("td", { class: "words" }, i ? "" : name), h("td", { class: "words" }, label), cells.map((text) => h("td", null, text)));
    }),
  );
  const heads = ["class", "", "mean response", "p99", "lost"].map((text, i) => h("th", { scope: "col", class: i < 2 ? "words" : null }, text));
  const table = h("table", { class: "grid" }, h("thead", null, h("tr", null, heads)), h("tbody", null, rows));
  return [h("div", { class: "scroll" }, table), h("ul", null, found.assumed.map((text) => h("li", null, text)))];
}
