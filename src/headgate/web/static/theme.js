// Before anything is painted: the theme and the size that were chosen last.
const root = document.documentElement;
root.dataset.theme =
  localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
root.classList.toggle("large", localStorage.getItem("large") === "true");
