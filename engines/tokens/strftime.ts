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
    if (!number) throw new Error(`it writes the date with "${directive}", which Kit does not know`);
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
