// Changes: what is asked of the engine, with the token that whoever runs it has.

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

export const change = async (path, values) => (await ask(path, values)) !== null;
