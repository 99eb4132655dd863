// The frame around the pages: which one is shown, what the engine does as a whole, and since when there is no news.

import { h, put } from "./dom.js";
import { clock, count, share, span } from "./format.js";
import { learn } from "./colours.js";
import { Live } from "./live.js";
import overview from "./pages/overview.js";
import queries from "./pages/queries.js";
import query from "./pages/query.js";
import streams from "./pages/streams.js";
import lanes from "./pages/lanes.js";
import load from "./pages/load.js";
import network from "./pages/network.js";
import tables from "./pages/tables.js";
import deadlines from "./pages/deadlines.js";
import whatif from "./pages/whatif.js";
import why from "./pages/why.js";

const PAGES = { "": overview, queries, streams, lanes, load, network, tables, deadlines, whatif, why };
const STALE = 4000;
const place = document.getElementById("page");
const news = document.getElementById("news");
const live = new Live(update);
let page = null;

const links = Object.entries(PAGES).map(([name, each]) => h("a", { href: `#/${name}` }, each.title));
document.getElementById("nav").append(...links);

function go() {
  const [name, rest] = location.hash.replace(/^#\/?/, "").split("/");
  const chosen = name === "query" ? query : (PAGES[name] ?? overview);
  page?.unmount?.();
  place.replaceChildren();
  document.title = `${chosen.title} · Headgate`;
  links.forEach((link) => {
    const current = link.getAttribute("href") === `#/${chosen === query ? "queries" : name}`;
    current ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  });
  place.append(h("h1", null, chosen.title));
  page = chosen.mount(place, live, rest && decodeURIComponent(rest));
  live.follow(["classes", ...chosen.parts]);
}

const TOTALS = ["policy", "running for", "lanes busy", "tuples/s", "queries", "pending", "oldest wait", "results", "QoS", "dropped", "rejected"];
const cells = TOTALS.map((name) => h("div", null, h("span", { class: "label" }, name), h("strong", null, "–")));
document.getElementById("totals").append(...cells);

function update() {
  const [all] = live.records("totals");
  learn(live.records("classes").map((each) => each.name));
  const shown = [
    all.policy, span(all.elapsed), share(all.busy), count(all.rate), count(all.queries), count(all.pending),
    span(all.oldest_wait), count(all.results), share(all.qos), count(all.shed), count(all.rejected),
  ];
  shown.forEach((text, i) => put(cells[i].lastChild, text));
  tell();
  page.update();
}

function tell() {
  const silent = performance.now() - live.last > STALE || live.time === null;
  const since = live.time === null ? "no news yet" : `no news since ${clock(live.time)}`;
  put(news, silent ? `⚠ ${since}` : `● live, ${clock(live.time)}`);
  news.dataset.state = silent ? "late" : "on time";
  document.body.classList.toggle("stale", silent);
}

function toggle(id, flip) {
  document.getElementById(id).addEventListener("click", () => {
    flip();
    document.dispatchEvent(new Event("theme"));
  });
}

toggle("theme", () => {
  const { dataset } = document.documentElement;
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", dataset.theme);
});
toggle("large", () => {
  const large = document.documentElement.classList.toggle("large");
  document.getElementById("large").setAttribute("aria-pressed", large);
  localStorage.setItem("large", large);
});

setInterval(tell, 1000);
addEventListener("hashchange", go);
go();
