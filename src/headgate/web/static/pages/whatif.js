// What if: this run so far under other choices, as the simulator predicts it, beside what was measured.

import { ask } from "../changes.js";
import { h } from "../dom.js";
import { share, span } from "../format.js";

const FIELDS = [
  ["policy", "policy", "as it is, or bsd, cqc, fcfs …"],
  ["shed", "load management", "as it is, or dilos:aloma …"],
  ["rate", "rate", "1x, 2x, 0.5x …"],
  ["lanes", "lanes of each kind", "as it is, or 4 …"],
];
const MORE = [
  ["name", "a query more", "none, or its name"],
  ["like", "like", "a query that there is"],
  ["class", "of class", "that of the other"],
];
const CHOSEN = ["policy", "shed", "like", "class"];
const CASES = [
  ["measured", "measured"],
  ["predicted", "predicted as it is"],
  ["whatif", "predicted as asked"],
];
// What was asked and answered last, for who comes back.
const kept = { values: {}, answer: [] };

export default {
  title: "What if",
  parts: [],
  mount(root, live) {
    const input = ([name, label, hint]) => {
      const list = CHOSEN.includes(name) ? `choices-${name}` : null;
      return h("label", null, label, " ", h("input", { name, placeholder: hint, size: 26, list, autocomplete: "off", value: kept.values[name] ?? null }), list && h("datalist", { id: list }));
    };
    const button = h("button", { type: "submit" }, "predict");
    const answer = h("div", { "aria-live": "polite" }, kept.answer);
    const form = h("form", { class: "whatif", onsubmit: submit, oninput: keep }, FIELDS.map(input), h("span", { class: "break" }), MORE.map(input), button);
    root.append(
      h("p", null, "The run so far, replayed in the simulator under other choices. How far the second row of a class is from the first is its error, which says how far to trust the third."),
      form,
      answer,
    );
    offer(form).catch(() => null);

    function keep() {
      kept.values = Object.fromEntries(new FormData(form));
    }

    async function submit(event) {
      event.preventDefault();
      keep();
      button.disabled = true;
      answer.replaceChildren(h("p", null, "replaying …"));
      const found = await ask("/api/whatif", kept.values);
      button.disabled = false;
      kept.answer = found ? shown(found, live) : [];
      answer.replaceChildren(...kept.answer);
    }

    return { update() {} };
  },
};

async function offer(form) {
  const found = await (await fetch("/api/choices")).json();
  for (const name of CHOSEN) form.querySelector(`#choices-${name}`).replaceChildren(...found[name].map((value) => h("option", { value })));
}

function shown(found, live) {
  const listed = live.records("classes").map((each) => each.name);
  const place = (name) => (listed.indexOf(name) + 1 || Infinity);
  const names = [...new Set(CASES.flatMap(([key]) => Object.keys(found[key]?.classes ?? {})))].sort((one, other) => place(one) - place(other) || 0);
  const valued = CASES.some(([key]) => Object.values(found[key]?.classes ?? {}).some((fate) => Number.isFinite(fate.qos)));
  const worth = valued ? ["average QoS"] : [];
  const rows = names.flatMap((name) => {
    const target = found.targets[name] ?? null;
    return CASES.filter(([key]) => found[key]).map(([key, label], i) => {
      const fate = found[key].classes[name];
      const error = key === "predicted" ? off(found.measured.classes[name], fate) : "";
      const cells = fate ? [time(fate.mean, target), time(fate.p99, target), lost(fate.loss), ...worth.map(() => h("td", null, share(fate.qos)))] : ["–", "–", "–", ...worth.map(() => "–")].map((text) => h("td", null, text));
      const told = [i ? "" : name, label].map((text) => h("td", { class: "words" }, text));
      return h("tr", null, told, h("td", null, i ? "" : target === null ? "none" : span(target)), cells, h("td", null, error));
    });
  });
  const heads = ["class", "", "target", "mean response", "p99", "lost", ...worth, "error of mean, of loss"].map((text, i) => h("th", { scope: "col", class: i < 2 ? "words" : null }, text));
  const table = h("table", { class: "grid" }, h("thead", null, h("tr", null, heads)), h("tbody", null, rows));
  const note = h("p", { class: "note" }, "▲ is later than the target");
  return [h("div", { class: "scroll" }, table), note, h("h2", null, "Assumed"), h("ul", null, found.assumed.map((text) => h("li", null, text)))];
}

const missed = (seconds, target) => seconds !== null && target !== null && seconds > target;
const time = (seconds, target) => h("td", { class: missed(seconds, target) ? "bad" : null }, `${missed(seconds, target) ? "▲ " : ""}${span(seconds)}`);
const lost = (loss) => h("td", null, `${(100 * loss).toFixed(1)} %`);

// How far the prediction of the run as it was is from what was measured: of the mean response, and of the loss in points.
function off(measured, predicted) {
  if (!measured || !predicted) return "–";
  const signed = (text) => (text.startsWith("-") ? text.replace("-", "−") : `+${text}`);
  const mean = measured.mean && predicted.mean !== null ? signed(share(predicted.mean / measured.mean - 1)) : "–";
  return `${mean}, ${signed((100 * (predicted.loss - measured.loss)).toFixed(1))} points`;
}
