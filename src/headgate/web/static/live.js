// What the engine says, as it says it: parts as maps of records by key, logs as arrays. Connects again by itself.

const LONGEST_SILENCE = 15000;
const MOST = { runs: 5000, history: 600, refused: 100 };

export class Live {
  constructor(hear) {
    this.hear = hear;
    this.time = null;
    this.source = null;
    this.asked = "";
    this.parts = {};
    this.last = performance.now();
    setInterval(() => this.#check(), 2000);
    // A page that nobody sees does not ask.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.source?.close() : this.#open()));
  }

  follow(parts) {
    this.asked = [...new Set(["totals", ...parts])].join(",");
    this.#open();
  }

  records(part) {
    return this.parts[part] instanceof Map ? [...this.parts[part].values()] : [];
  }

  log(name) {
    return this.parts[name] ?? [];
  }

  #open() {
    this.source?.close();
    this.last = performance.now();
    this.source = new EventSource(`/live?of=${this.asked}`);
    this.source.onmessage = (event) => this.#take(JSON.parse(event.data));
  }

  #check() {
    const silent = performance.now() - this.last > LONGEST_SILENCE;
    if (!document.hidden && (silent || this.source?.readyState === EventSource.CLOSED)) this.#open();
  }

  #take(message) {
    this.last = performance.now();
    this.time = message.time;
    if (!message.new) this.parts = {};
    for (const [name, given] of Object.entries(message)) {
      if (Array.isArray(given)) this.parts[name] = [...this.log(name), ...given].slice(-MOST[name]);
      else if (given && typeof given === "object") this.#merge(name, given);
    }
    this.hear();
  }

  #merge(name, { columns, rows, gone }) {
    const part = (this.parts[name] ??= new Map());
    if (columns) part.columns = columns;
    for (const key of gone) part.delete(key);
    for (const [key, row] of Object.entries(rows)) {
      part.set(key, Object.fromEntries(part.columns.map((column, i) => [column, row[i]])));
    }
  }
}
