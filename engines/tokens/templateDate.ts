import { UnsupportedInTemplate } from "./jinja/unsupported.ts";

/**
 * Kit's own key in `tokenizer_config.json`: the date that the chat template wrote in the model's training rows,
 * when training began. Local time, without a zone.
 */
const KEY = "template_date";

/** The date in a model's training rows, if any. */
export function templateDateIn(config: Record<string, unknown>): Date | undefined {
  const { [KEY]: text } = config;
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text)) {
    return undefined;
  }
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The config entry for a date. */
export function templateDateEntry(date: Date): Record<string, string> {
  return { [KEY]: writtenDate(date) };
}

export function withoutTemplateDate(config: Record<string, unknown>): Record<string, unknown> {
  const { [KEY]: _, ...rest } = config;
  return rest;
}

export function writtenDate(date: Date): string {
  return strftime("%Y-%m-%dT%H:%M:%S", date);
}

/**
 * Python's `strftime` in the C locale, with the directives that chat templates use. The `strftime` of the Jinja
 * package uses the machine's language.
 * @throws Error for another directive
 */
export function strftime(format: string, time: Date): string {
  return format.replaceAll(/%(-?)(.?)/gsu, (directive, flag: string, letter: string) => {
    const name = flag === "" ? NAMES.get(letter) : undefined;
    const number = NUMBERS.get(letter);
    if (name) return name(time);
    if (!number) throw new UnsupportedInTemplate(`it writes the date with "${directive}"`);
    return String(number(time)).padStart(flag === "" ? 2 : 1, "0");
  });
}

const NAMES = new Map<string, (time: Date) => string>([
  // The short names need no locale, which takes milliseconds to load.
  ["a", (time) => time.toDateString().slice(0, 3)],
  ["A", (time) => time.toLocaleString("en-US", { weekday: "long" })],
  ["b", (time) => time.toDateString().slice(4, 7)],
  ["B", (time) => time.toLocaleString("en-US", { month: "long" })],
  ["p", (time) => (time.getHours() < 12 ? "AM" : "PM")],
  ["%", () => "%"],
]);

const NUMBERS = new Map<string, (time: Date) => number>([
  ["Y", (time) => time.getFullYear()],
  ["y", (time) => time.getFullYear() % 100],
  ["m", (time) => time.getMonth() + 1],
  ["d", (time) => time.getDate()],
  ["H", (time) => time.getHours()],
  ["I", (time) => time.getHours() % 12 || 12],
  ["M", (time) => time.getMinutes()],
  ["S", (time) => time.getSeconds()],
]);
