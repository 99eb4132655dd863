// A table that can be sorted, and has only those rows in the document that one sees: a thousand cost no more than forty.

import { badge, h, mark, put, showState } from "./dom.js";

const AROUND = 8;

export class Grid {
  // A column: key, label, format; `words` for text, `state` for a badge, `href` for a link; `title` explains it.
  // Cells of a column that `wraps` are shown whole, or on one line, as one clicks on them.
  constructor(columns, { sort = columns[0].key, down = false, rowState = null, empty = "Nothing here." } = {}) {
    this.columns = columns;
    this.sort = { key: sort, down };
    this.rowState = rowState;
    this.records = [];
    this.lines = [];
    this.body = h("tbody");
    this.above = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
    this.below = this.above.cloneNode(true);
    this.empty = h("p", { class: "empty", hidden: true }, empty);
    this.heads = columns.map((column) => this.#head(column));
    this.table = h("table", { class: "grid" }, h("thead", null, h("tr", null, this.heads)), this.body);
    this.element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, this.table, this.empty);
    this.element.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.resized = new ResizeObserver(() => this.#draw());
    this.resized.observe(this.element);
    this.body.append(this.above, this.below);
  }

  update(records) {
    this.records = [...records];
    this.#order();
  }

  remove() {
    this.resized.disconnect();
  }

  #head(column) {
    const turn = () => {
      const again = this.sort.key === column.key;
      this.sort = { key: column.key, down: again ? !this.sort.down : !column.words && !column.state };
      this.#order();
    };
    const button = h("button", { type: "button", onclick: turn, title: column.title }, column.label);
    return h("th", { scope: "col", class: column.words || column.state ? "words" : null, "data-key": column.key }, button);
  }

  #order() {
    const { key, down } = this.sort;
    const sign = down ? -1 : 1;
    // What is not known comes last, whichever way.
    this.records.sort((one, other) => {
      const [a, b] = [one[key], other[key]];
      if (a === null || b === null || a === undefined || b === undefined) return (a ?? null) === (b ?? null) ? 0 : (a ?? null) === null ? 1 : -1;
      return sign * (a < b ? -1 : a > b ? 1 : 0) || (one.name < other.name ? -1 : 1);
    });
    this.heads.forEach((head, i) => {
      const sorted = this.columns[i].key === key ? (down ? "descending" : "ascending") : "none";
      if (head.getAttribute("aria-sort") !== sorted) head.setAttribute("aria-sort", sorted);
    });
    this.empty.hidden = this.records.length > 0;
    this.#draw();
  }

  #draw() {
    const height = this.height ?? 28;
    const seen = Math.ceil((this.element.clientHeight || 600) / height) + 2 * AROUND;
    const first = Math.max(0, Math.min(Math.floor(this.element.scrollTop / height) - AROUND, this.records.length - seen));
    const shown = this.records.slice(first, first + seen);
    while (this.lines.length < shown.length) this.#line();
    this.lines.forEach((line, i) => {
      line.row.hidden = i >= shown.length;
      if (shown[i]) this.#fill(line, shown[i]);
    });
    this.#space(this.above, first * height);
    this.#space(this.below, (this.records.length - first - shown.length) * height);
    if (!this.height && shown.length) this.height = this.lines[0].row.getBoundingClientRect().height || undefined;
  }

  #space(row, height) {
    row.hidden = height <= 0;
    row.firstChild.style.height = `${Math.max(0, height)}px`;
  }

  #line() {
    const cells = this.columns.map((column) => {
      if (column.state) return badge();
      return column.href ? h("a", null) : h("span", null);
    });
    const whole = () => {
      this.table.classList.toggle("whole");
      this.height = undefined;
      this.#draw();
    };
    const row = h("tr", null, cells.map((cell, i) => {
      const { words, state, wraps } = this.columns[i];
      return h("td", { class: [(words || state) && "words", wraps && "wraps"].filter((each) => each).join(" ") || null, onclick: wraps && whole }, cell);
    }));
    this.lines.push({ row, cells });
    this.below.before(row);
  }

  #fill({ row, cells }, record) {
    if (this.rowState) mark(row, "state", this.rowState(record));
    this.columns.forEach((column, i) => {
      const given = record[column.key];
      if (column.state) return showState(cells[i], given ?? "quiet");
      put(cells[i], column.format ? column.format(given, record) : String(given ?? "–"));
      if (column.href) {
        const href = column.href(record);
        if (cells[i].getAttribute("href") !== href) cells[i].setAttribute("href", href);
      }
      // A row that was another's before still has its title.
      const title = column.words ? String(given ?? "") : "";
      if (cells[i].title !== title) cells[i].title = title;
    });
  }
}
