// Reference tables: how fresh they are, and why one could not be read. Shows whatever is known of them.

import { facts } from "../dom.js";
import { value, words } from "../format.js";
import { Grid } from "../grid.js";

export default {
  title: "Tables",
  parts: ["tables", "refreshing"],
  mount(root, live) {
    let grid = null;
    let known = "";
    let budget = null;
    return {
      update() {
        const [spent] = live.records("refreshing");
        if (spent) {
          const { name, ...rest } = spent;
          if (!budget) root.append((budget = facts(Object.keys(rest).map((key) => key.replaceAll("_", " ")))).element);
          budget.show(Object.entries(rest).map(([key, each]) => value(key, each)));
        }
        const records = live.records("tables").map((each) => ({ ...each, state: each.problem ? "trying" : "running" }));
        const keys = Object.keys(records[0] ?? { name: "", problem: "" }).filter((key) => key !== "state" && key !== "problem");
        if (keys.join() !== known || !grid) {
          grid?.element.remove();
          known = keys.join();
          const columns = keys.map((key) => ({ key, label: key === "name" ? "table" : key.replaceAll("_", " "), words: key === "name", format: (given) => value(key, given) }));
          columns.splice(1, 0, { key: "state", label: "state", state: true });
          columns.push({ key: "problem", label: "problem", words: true, format: words });
          grid = new Grid(columns, { rowState: (row) => row.state, empty: "No reference table is registered." });
          root.append(grid.element);
        }
        grid.update(records);
      },
      unmount: () => grid?.remove(),
    };
  },
};
