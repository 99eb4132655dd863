// The network: streams and tables, the units that read them, their queries, and where results go.

import { legend } from "../charts.js";
import { colour } from "../colours.js";
import { h, put, svg } from "../dom.js";
import { layered } from "../layout.js";

const EVERY = 3000;
const KINDS = [["stream", "table"], ["unit"], ["queries"], ["sink"]];
const HEADS = ["streams and tables", "units", "queries", "sinks"];
const WIDE = 300;
const BOX = 210;
const HIGH = 46;

export default {
  title: "Network",
  parts: [],
  mount(root, live) {
    const said = h("p", { class: "lead" });
    const names = h("div");
    const place = h("div", { class: "drawing scroll", tabindex: "0" });
    root.append(said, names, place);
    let due = 0;
    let last = "";
    const ask = async () => {
      const text = await (await fetch("/api/network")).text();
      if (text === last) return;
      last = text;
      const found = JSON.parse(text);
      place.replaceChildren(drawn(found));
      // Queries without a class of their own have one that is not listed.
      const classes = found.nodes.map((node) => node.cls).filter(Boolean);
      names.replaceChildren(legend([...new Set([...live.records("classes").map((each) => each.name), ...classes])]));
      const units = found.nodes.filter((node) => node.kind === "unit");
      const fused = units.filter((node) => node.kernel).length;
      const riding = units.reduce((sum, node) => sum + node.riding, 0);
      const rest = found.unlisted ? `; ${found.unlisted} queries are not listed` : "";
      put(said, `${units.reduce((sum, node) => sum + node.count, 0)} units, ${fused} drawn in bold run in the kernel${riding ? `; ${riding} queries ride with another class` : ""}${rest}`);
    };
    return {
      update() {
        if (performance.now() < due) return;
        due = performance.now() + EVERY;
        ask().catch(() => null);
      },
    };
  },
};

function drawn({ nodes, edges }) {
  const { places, width, height } = layered(nodes, edges, KINDS);
  const at = new Map(places.map(({ node, x, y }) => [node.id, [x * WIDE + 10, y * HIGH + 30]]));
  const lines = edges.filter(([from, to]) => at.has(from) && at.has(to)).map(([from, to]) => {
    const [[x, y], [u, v]] = [at.get(from), at.get(to)];
    const [begin, end] = [x + BOX, u];
    const bend = (end - begin) / 2;
    return svg("path", { class: "edge", d: `M${begin} ${y}C${begin + bend} ${y} ${end - bend} ${v} ${end} ${v}` });
  });
  const heads = HEADS.map((text, i) => svg("text", { x: i * WIDE + 10, y: 14, class: "head" }, text));
  const boxes = places.map(({ node }) => box(node, at.get(node.id)));
  const size = { viewBox: `0 0 ${(width - 1) * WIDE + BOX + 20} ${(height + 0.5) * HIGH + 30}` };
  const natural = (width - 1) * WIDE + BOX + 20;
  const pixels = { style: `width: 100%; min-width: ${natural}px; max-width: ${1.7 * natural}px; height: auto` };
  return svg("svg", { ...size, ...pixels, class: "network", role: "img", "aria-label": "The network of queries" }, heads, lines, boxes);
}

function box(node, [x, y]) {
  const single = node.kind === "queries" && node.count === 1;
  const more = [node.kind === "unit" && (node.kernel ? "kernel" : "Spark plan"), node.riding && `${node.riding} riding`].filter(Boolean).join(", ");
  const stroke = node.cls ? colour(node.cls) : null;
  const parts = [
    svg("rect", { x, y: y - 17, width: BOX, height: 34, rx: node.kind === "stream" ? 17 : 5, class: node.kernel ? "kernel" : null, stroke }),
    node.count > 1 && svg("rect", { x: x + 4, y: y - 13, width: BOX, height: 34, rx: 5, class: "stack", stroke }),
    svg("text", { x: x + 12, y: more ? y - 2 : y + 4 }, shortened(node.label)),
    more && svg("text", { x: x + 12, y: y + 12, class: "more" }, more),
    svg("title", null, [node.label, node.cls && `class ${node.cls}`, more].filter(Boolean).join("\n")),
  ].filter(Boolean);
  const group = svg("g", { class: `node ${node.kind}` }, parts.sort((one) => (one.classList?.contains("stack") ? -1 : 0)));
  return single ? svg("a", { href: `#/query/${encodeURIComponent(node.label)}` }, group) : group;
}

const shortened = (text) => (text.length > 30 ? `${text.slice(0, 15)}…${text.slice(-14)}` : text);
