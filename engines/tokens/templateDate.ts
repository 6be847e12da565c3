import { UnknownToKit } from "./jinja/unknownToKit.ts";

/**
 * The key in `tokenizer_config.json`, Kit's own, of the time at which a model's training began: what a
 * chat template that writes the date has written in its rows. A time of the clock, without a zone.
 */
const KEY = "template_date";

/** Undefined for a model that learned no date. */
export function templateDateIn(config: Record<string, unknown>): Date | undefined {
  const { [KEY]: written } = config;
  if (typeof written !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(written)) {
    return undefined;
  }
  const date = new Date(written);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The entry of a config. */
export function templateDateEntry(date: Date): Record<string, string> {
  return { [KEY]: writtenDate(date) };
}

/** A config without that entry. */
export function withoutTemplateDate(config: Record<string, unknown>): Record<string, unknown> {
  const { [KEY]: _, ...rest } = config;
  return rest;
}

export function writtenDate(date: Date): string {
  return strftime("%Y-%m-%dT%H:%M:%S", date);
}

/**
 * A time as `datetime.strftime` of Python writes it in the C locale, with the directives that the
 * templates of models have. The library's own writes in the machine's language.
 * @throws Error for another directive, which would differ from what the model has learned
 */
export function strftime(format: string, time: Date): string {
  return format.replaceAll(/%(-?)(.?)/gsu, (directive, flag: string, letter: string) => {
    const name = flag === "" ? NAMES.get(letter) : undefined;
    const number = NUMBERS.get(letter);
    if (name) return name(time);
    if (!number) throw new UnknownToKit(`it writes the date with "${directive}"`);
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
