/** What a directive writes of a local time. */
type Write = (time: Date) => string;

/**
 * A time as `datetime.strftime` of Python writes a local one without a zone, in the C locale.
 * @throws Error for a directive that it does not know
 */
export function strftime(format: string, time: Date): string {
  return format.replaceAll(/%(-?)(.?)/gsu, (directive, flag: string, letter: string) => {
    const write = Object.hasOwn(DIRECTIVES, letter) ? DIRECTIVES[letter] : undefined;
    const isNumber = NUMBERS.has(letter);
    if (!write || (flag !== "" && !isNumber)) {
      throw new Error(`it writes the date with "${directive}", which Kit does not know`);
    }
    const text = write(time);
    return flag === "" ? text : text.replace(/^[0 ]+(?=.)/, "");
  });
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];
const SHORT = 3;
const DAY_MS = 86_400_000;

const day: Write = (time) => DAYS[time.getDay()]!;
const month: Write = (time) => MONTHS[time.getMonth()]!;
const half: Write = (time) => (time.getHours() < 12 ? "AM" : "PM");
const to =
  (format: string): Write =>
  (time) =>
    strftime(format, time);

const NUMBERS: ReadonlyMap<string, Write> = new Map(
  Object.entries({
    d: padded((time) => time.getDate()),
    e: padded((time) => time.getDate(), 2, " "),
    m: padded((time) => time.getMonth() + 1),
    y: padded((time) => time.getFullYear() % 100),
    Y: padded((time) => time.getFullYear(), 1),
    C: padded((time) => Math.floor(time.getFullYear() / 100)),
    H: padded((time) => time.getHours()),
    k: padded((time) => time.getHours(), 2, " "),
    I: padded(hourOfHalf),
    l: padded(hourOfHalf, 2, " "),
    M: padded((time) => time.getMinutes()),
    S: padded((time) => time.getSeconds()),
    j: padded((time) => dayOfYear(time) + 1, 3),
    w: padded((time) => time.getDay(), 1),
    u: padded((time) => daysSinceMonday(time) + 1, 1),
    U: padded((time) => Math.floor((dayOfYear(time) + 7 - time.getDay()) / 7)),
    W: padded((time) => Math.floor((dayOfYear(time) + 7 - daysSinceMonday(time)) / 7)),
    V: padded((time) => Math.floor(dayOfYear(thursdayOf(time)) / 7) + 1),
    G: padded((time) => thursdayOf(time).getFullYear(), 1),
    g: padded((time) => thursdayOf(time).getFullYear() % 100),
  }),
);

const DIRECTIVES: Record<string, Write> = {
  ...Object.fromEntries(NUMBERS),
  ...{ a: (time) => day(time).slice(0, SHORT), A: day },
  ...{ b: (time) => month(time).slice(0, SHORT), h: to("%b"), B: month },
  ...{ p: half, P: (time) => half(time).toLowerCase() },
  // JavaScript's times end at the millisecond.
  f: padded((time) => time.getMilliseconds() * 1_000, 6),
  ...{ c: to("%a %b %e %H:%M:%S %Y"), x: to("%m/%d/%y"), X: to("%H:%M:%S"), r: to("%I:%M:%S %p") },
  ...{ F: to("%Y-%m-%d"), D: to("%m/%d/%y"), T: to("%H:%M:%S"), R: to("%H:%M") },
  // A time without a zone.
  ...{ z: () => "", Z: () => "" },
  ...{ n: () => "\n", t: () => "\t", "%": () => "%" },
};

function padded(numberOf: (time: Date) => number, width = 2, fill = "0"): Write {
  return (time) => String(numberOf(time)).padStart(width, fill);
}

function hourOfHalf(time: Date): number {
  return time.getHours() % 12 || 12;
}

function daysSinceMonday(time: Date): number {
  return (time.getDay() + 6) % 7;
}

/** From 0, whatever the clock was changed by. */
function dayOfYear(time: Date): number {
  const year = time.getFullYear();
  return (Date.UTC(year, time.getMonth(), time.getDate()) - Date.UTC(year, 0, 1)) / DAY_MS;
}

/** Of the same week, whose year it gives. */
function thursdayOf(time: Date): Date {
  const sinceMonday = daysSinceMonday(time);
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() - sinceMonday + 3);
}
