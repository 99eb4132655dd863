// What the engine says, as it says it: parts as records, which come column by column, logs as arrays. Connects again by itself.

const LONGEST_SILENCE = 15000;
const MOST = { runs: 5000, history: 600, refused: 100 };

export class Live {
  constructor(hear) {
    this.hear = hear;
    this.time = null;
    this.source = null;
    this.asked = "";
    this.parts = {};
    this.last = this.opened = performance.now();
    setInterval(() => this.#check(), 2000);
    // A page that nobody sees does not ask.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.source?.close() : this.#open()));
  }

  follow(parts) {
    this.asked = [...new Set(["totals", ...parts])].join(",");
    this.#open();
  }

  records(part) {
    return this.parts[part]?.records ?? [];
  }

  log(name) {
    return this.parts[name] ?? [];
  }

  #open() {
    this.source?.close();
    this.opened = performance.now();
    const source = new EventSource(`/live?of=${this.asked}`);
    source.onmessage = (event) => this.#take(source, event.data);
    this.source = source;
  }

  #check() {
    const silent = performance.now() - Math.max(this.last, this.opened) > LONGEST_SILENCE;
    if (!document.hidden && (silent || this.source?.readyState === EventSource.CLOSED)) this.#open();
  }

  // What cannot be read is no news: the check connects again, and everything comes anew.
  #take(source, text) {
    try {
      this.#learn(JSON.parse(text));
    } catch (error) {
      console.error(error);
      source.close();
      return;
    }
    this.last = performance.now();
    this.hear();
  }

  #learn(message) {
    if (!message.new) this.parts = {};
    for (const [name, given] of Object.entries(message)) {
      if (Array.isArray(given)) this.parts[name] = [...this.log(name), ...given].slice(-MOST[name]);
      else if (given && typeof given === "object") this.#merge(name, given);
    }
    this.time = message.time;
  }

  // Columns in which something has changed; where there are other rows, all of them come, with new names.
  #merge(name, news) {
    const columns = news.name ? news : { ...this.parts[name].columns, ...news };
    const [keys, values] = [Object.keys(columns), Object.values(columns)];
    const records = columns.name.map((_, i) => Object.fromEntries(keys.map((key, k) => [key, values[k][i]])));
    this.parts[name] = { columns, records };
  }
}
