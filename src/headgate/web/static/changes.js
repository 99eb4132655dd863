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

function ask() {
  field.value = "";
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((answer) =>
    dialog.addEventListener("close", () => answer(dialog.returnValue === "ok" ? field.value : null), { once: true }),
  );
}

export async function change(path, values = {}) {
  for (;;) {
    const token = sessionStorage.getItem("token") ?? (await ask());
    if (token === null) return false;
    const headers = { "X-Headgate-Token": token };
    const answer = await fetch(path, { method: "POST", headers, body: new URLSearchParams(values) });
    if (answer.ok) {
      sessionStorage.setItem("token", token);
      return true;
    }
    const { error } = await answer.json();
    say(error);
    sessionStorage.removeItem("token");
    if (answer.status !== 403) return false;
  }
}
