import { Series, asFloat, assertModest, isInteger, isTuple, numeric, typeName } from "./values.ts";
import { representation, written } from "./writing.ts";

/** A conversion of Python's `%`: flags, width, precision, kind. */
const CONVERSION = /%(?:\((\w+)\))?([-0+ ]*)(\d*)(?:\.(\d+))?(.)/gsu;

/** A text with its `%s` and the like filled, as Python's `text % value`. @throws Error for another kind */
export function formatted(text: string, value: unknown): string {
  const values = isTuple(value) ? (value as unknown[]) : [value];
  let next = 0;
  const result = text.replaceAll(
    CONVERSION,
    (
      whole,
      name: string | undefined,
      flags: string,
      width: string,
      precision: string,
      kind: string,
    ) => {
      if (kind === "%") return "%";
      if (name === undefined && next >= values.length) {
        throw new Error("it formats fewer values than it names");
      }
      const one = name === undefined ? values[next++] : (value as Map<string, unknown>).get(name);
      assertModest(Number(width) + Number(precision ?? 0));
      const filled = converted(kind, one, precision === undefined ? undefined : Number(precision));
      if (filled === undefined)
        throw new Error(`it formats with "${whole}", which Kit does not know`);
      return padded(filled, flags, Number(width));
    },
  );
  if (next < values.length && (isTuple(value) || !isIndexed(value))) {
    throw new Error("it formats more values than it names");
  }
  return result;
}

/** Of such a value Python does not say that it is left over. */
const isIndexed = (value: unknown) =>
  value === undefined ||
  value instanceof Map ||
  (value instanceof Series && value.kind === "range") ||
  Array.isArray(value);

function converted(kind: string, value: unknown, precision: number | undefined) {
  if (kind === "s") return written(value).slice(0, precision);
  if (kind === "r") return representation(value).slice(0, precision);
  const number = numeric(value);
  if (!/^[dif]$/.test(kind)) return undefined;
  if (number === undefined) throw new Error(`it formats a ${typeName(value)} as a number`);
  if (kind === "f") return Number(number).toFixed(precision ?? 6);
  return written(isInteger(value) ? number : Math.trunc(Number(asFloat(Number(number)))));
}

function padded(text: string, flags: string, width: number): string {
  const sign = /^-/.test(text) ? "" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const whole = sign + text;
  if (flags.includes("-")) return whole.padEnd(width);
  if (!flags.includes("0")) return whole.padStart(width);
  const [, minus = "", digits = ""] = /^([-+ ]?)(.*)$/s.exec(whole) ?? [];
  return minus + digits.padStart(width - minus.length, "0");
}
