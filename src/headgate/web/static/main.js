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
  // The header, which stays, would hide the beginning of the page.
  scrollTo(0, 0);
  page = chosen.mount(place, live, rest && decodeURIComponent(rest));
  live.follow(["classes", ...chosen.parts]);
}

// What needs somebody comes last, and only if there is any of it: what stands before it stays where it is.
const TROUBLES = [
  ["failed queries", "that are stopped because their runs fail", "#/queries/state=failed", "failed"],
  ["failed streams", "that are read no more", "#/streams", "failed_streams"],
  ["failed tables", "that could not be read", "#/tables", "failed_tables"],
  ["late deadlines", "queries whose windows miss their deadline", "#/deadlines", "late_deadlines"],
  ["trying again", "queries whose last run failed", "#/queries/state=trying", "trying"],
];
const TOTALS = [
  ["policy", "by what the next run is chosen", (all) => all.policy],
  ["load management", "who says what is dropped: how classes share the time, and the load manager", (all) => all.shedding ?? "none"],
  ["running for", "since the policy began", (all) => span(all.elapsed)],
  ["lanes busy", "part of the lanes' time of the last ten seconds", (all) => share(all.busy)],
  ["tuples/s", "that come, in all streams", (all) => count(all.rate)],
  ["queries", "that are registered", (all) => count(all.queries)],
  ["pending tuples", "that wait, counted for each query that they wait for", (all) => count(all.pending)],
  ["oldest wait", "how long the oldest of them waits", (all) => span(all.oldest_wait)],
  ["results", "since the policy began", (all) => count(all.results)],
  ["QoS", "what results were worth by QoS graphs, on average over the queries that have one", (all) => share(all.qos)],
  ["dropped so far", "tuples, counted for each query that they were dropped for", (all) => count(all.shed)],
  ["rejected", "rows that could not be read", (all) => count(all.rejected)],
];
const cell = (name, title, value, attributes) => h("div", { title, ...attributes }, h("span", { class: "label" }, name), value);
const troubles = TROUBLES.map(([name, title, href]) => cell(name, title, h("a", { href, class: "bad" }), { hidden: true }));
const cells = TOTALS.map(([name, title]) => cell(name, title, h("strong", null, "–")));
document.getElementById("totals").append(...cells, ...troubles);

function update() {
  const [all] = live.records("totals");
  learn(live.records("classes").map((each) => each.name));
  TROUBLES.forEach(([, , , field], i) => {
    troubles[i].hidden = !all[field];
    put(troubles[i].lastChild, count(all[field]));
  });
  TOTALS.forEach(([, , said], i) => put(cells[i].lastChild, said(all)));
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
