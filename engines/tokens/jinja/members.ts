import { methodOf } from "./methods.ts";
import {
  Attributes,
  Markup,
  Series,
  asIndex,
  charactersOf,
  isInteger,
  isTuple,
  dictKey,
  numeric,
  textIn,
  tuple,
  typeName,
} from "./values.ts";

/**
 * `value.name`, which prefers methods to keys, or `value[name]`, which prefers keys.
 * @returns undefined if there is neither
 * @throws Error for an undefined value
 */
export function attributeOf(value: unknown, name: unknown, access: "attribute" | "item"): unknown {
  if (value === undefined)
    throw new Error(`it reads ${JSON.stringify(name)} of an undefined value`);
  if (value instanceof Attributes) return typeof name === "string" ? value.get(name) : undefined;
  const method = () => (typeof name === "string" ? methodOf(value, name) : undefined);
  if (access === "attribute") return method() ?? itemOf(value, name);
  const isKey = value instanceof Map && value.has(name);
  return isKey ? value.get(name) : (itemOf(value, name) ?? method());
}

/** `value[index]`; undefined without such an item. */
function itemOf(value: unknown, index: unknown): unknown {
  if (value instanceof Map) return value.get(dictKey(index));
  if (!isInteger(index)) return undefined;
  const items = sequenceOf(value);
  return items?.at(Number(numeric(index)));
}

/** `value[start:stop:step]`. @throws Error for anything but a sequence */
export function sliced(value: unknown, bounds: readonly unknown[]): unknown {
  const items = sequenceOf(value);
  if (!items) throw new Error(`it slices a ${typeName(value)}`);
  const [start, stop, step = 1] = bounds.map((bound) =>
    bound === undefined || bound === null ? undefined : asIndex(bound),
  );
  if (step === 0) throw new Error("it slices with a step of 0");
  const [min, max] = step > 0 ? [0, items.length] : [-1, items.length - 1];
  const clamp = (bound: number | undefined, fallback: number) =>
    bound === undefined
      ? fallback
      : Math.min(max, Math.max(min, bound < 0 ? bound + items.length : bound));
  const [from, to] =
    step > 0 ? [clamp(start, min), clamp(stop, max)] : [clamp(start, max), clamp(stop, min)];
  const found: unknown[] = [];
  for (let at = from; step > 0 ? at < to : at > to; at += step) found.push(items[at]);
  if (textIn(value) !== undefined) {
    return value instanceof Markup ? new Markup(found.join("")) : found.join("");
  }
  return isTuple(value) ? tuple(found) : found;
}

function sequenceOf(value: unknown): readonly unknown[] | undefined {
  const text = textIn(value);
  if (text !== undefined) return charactersOf(text);
  if (value instanceof Series) return value.kind === "range" ? value.take() : undefined;
  return Array.isArray(value) ? value : undefined;
}
