import { itemOf } from "./items.ts";
import { methodOf } from "./methods.ts";
import { Attributes } from "./values.ts";

/**
 * `value.name` or `value[name]`, which look for a method and a key in another order.
 * @returns undefined where there is none
 * @throws Error for what is itself undefined
 */
export function attributeOf(value: unknown, name: unknown, first: "attribute" | "item"): unknown {
  if (value === undefined) throw new Error(`it reads ${JSON.stringify(name)} of what is undefined`);
  if (value instanceof Attributes) return typeof name === "string" ? value.get(name) : undefined;
  const method = () => (typeof name === "string" ? methodOf(value, name) : undefined);
  if (first === "attribute") return method() ?? itemOf(value, name);
  const isThere = value instanceof Map && value.has(name);
  return isThere ? value.get(name) : (itemOf(value, name) ?? method());
}
