// Numbers as people read them, as `headgate top` has them: 12.3k, 340 ms, 1.2 MB. What is not known is a dash.

const UNKNOWN = "–";

function scaled(value, units) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  const [size, name] = units.findLast(([each]) => Math.abs(value) >= 0.9995 * each) ?? units[0];
  const shown = value / size;
  const whole = Math.abs(shown) >= 99.95 || (size === 1 && Number.isInteger(shown));
  return shown.toFixed(whole ? 0 : 1) + name;
}

export const count = (value) => scaled(value, [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]]);
export const size = (value) => scaled(value, [[1, " B"], [1e3, " kB"], [1e6, " MB"], [1e9, " GB"], [1e12, " TB"]]);
export const share = (value) => (Number.isFinite(value) ? `${(100 * value).toFixed(0)} %` : UNKNOWN);
// A share that may be many times the whole: 171 %, 569×.
export const times = (value) => (value >= 10 ? `${count(value)}×` : share(value));
export const number = (value) => (Number.isFinite(value) ? Number(value.toPrecision(3)).toString() : UNKNOWN);
export const lanes = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} lanes` : UNKNOWN);
export const words = (value) => value ?? UNKNOWN;

export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 0) return `−${span(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 99.5) return scaled(seconds, [[1e-6, " µs"], [1e-3, " ms"], [1, " s"]]);
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 100) return `${minutes}m ${String(Math.round(seconds) % 60).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 100 ? `${hours}h ${String(minutes % 60).padStart(2, "0")}m` : `${count(Math.floor(hours / 24))} d`;
}

// A point in time, as the clock on the wall shows it.
const DAY = { hourCycle: "h23" };
export const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], DAY);

// The same to the hundredth of a second, for runs.
const INSTANT = { ...DAY, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 2 };
export const instant = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], INSTANT);

// The same with its day, unless that is today.
export function moment(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  const [at, today] = [new Date(1000 * seconds), new Date()];
  return at.toDateString() === today.toDateString() ? at.toLocaleTimeString([], DAY) : at.toLocaleString([], DAY);
}

// Any value of a row of which only the name is known.
export function value(name, given) {
  if (given === null || given === undefined) return UNKNOWN;
  if (typeof given === "boolean") return given ? "yes" : "no";
  if (typeof given === "object") return Object.entries(given).map(([key, each]) => `${key}: ${each}`).join(", ") || UNKNOWN;
  if (typeof given !== "number") return String(given);
  if (given > 1e9 && /time|at$|since|read|watermark/.test(name)) return clock(given);
  if (/age$|wait|every|seconds|period|took|stride|window|deadline|demand|finish|worst/.test(name)) return span(given);
  if (/share|ratio$|fresh|perceived|accesses|kept|planned/.test(name)) return share(given);
  if (name === "bytes") return size(given);
  return Number.isInteger(given) ? count(given) : number(given);
}
