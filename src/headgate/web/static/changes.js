// Changes: what is asked of the engine, with the token that whoever runs it has.

import { h, put } from "./dom.js";

const dialog = document.getElementById("token");
const field = document.getElementById("token-value");
const toast = document.getElementById("toast");

export function say(text) {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (toast.hidden = true), 6000);
}

function token() {
  field.value = "";
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((answer) =>
    dialog.addEventListener("close", () => answer(dialog.returnValue === "ok" ? field.value : null), { once: true }),
  );
}

// Ask for something that needs the token; what is answered, or null if it is refused.
export async function ask(path, values = {}) {
  for (;;) {
    const known = sessionStorage.getItem("token") ?? (await token());
    if (known === null) return null;
    const headers = { "X-Headgate-Token": known };
    const answer = await fetch(path, { method: "POST", headers, body: new URLSearchParams(values) });
    const found = await answer.json();
    if (answer.ok) {
      sessionStorage.setItem("token", known);
      return found;
    }
    say(found.error);
    if (answer.status !== 403) return null;
    sessionStorage.removeItem("token");
  }
}

// One button that pauses what runs, and has what is paused or has failed go on; `show` is told the state.
export function pausing(path, name = "") {
  let what = "pause";
  const element = h("button", { type: "button", onclick: () => change(`${path}/${what}`) }, "pause");
  const show = (state) => {
    what = ["paused", "failed"].includes(state) ? "resume" : "pause";
    put(element, `${what} ${name}`.trim());
    element.disabled = state === "ended";
  };
  show();
  return { element, show };
}

export const change = async (path, values) => (await ask(path, values)) !== null;
