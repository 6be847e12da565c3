import { WholeFloat, stringifyJson } from "./json.ts";

/** Other trainers' keys that mark learned messages, and whether true means learned. */
const MARKS = new Map([
  ...[
    "weight",
    "loss",
    "loss_mask",
    "loss_scale",
    "loss_weight",
    "step_loss_mask",
    "train",
    "training",
    "trainable",
    "learn",
  ].map((key) => [key, true] as const),
  ["masked", false],
]);

/** Keys that are ambiguous, or that mark parts of an answer. */
const UNSUPPORTED = ["train_detail", "training_detail", "mask"];

/** What is wrong with an assistant message's marks; undefined if nothing is. */
export function problemOfMarks(message: object): string | undefined {
  for (const key of Object.keys(message)) {
    const isUnsupported = UNSUPPORTED.includes(key);
    const value =
      isUnsupported || MARKS.has(key) ? (message as Record<string, unknown>)[key] : undefined;
    if (value === undefined || value === null) continue;
    if (isUnsupported) {
      return `has a "${key}", which Kit does not read: write "weight": 0 for an answer that is not learned`;
    }
    if (flagOf(value) !== undefined) continue;
    const subject = `has a ${JSON.stringify(key)} of ${stringifyJson(value)}`;
    if (key === "weight") return `${subject}: write 0 or 1`;
    return `${subject}: write "weight": 0 for an answer that is not learned, or remove it`;
  }
  return undefined;
}

/** Whether a message is marked as not learned. */
export function isMarkedUnlearned(message: object): boolean {
  const values = message as Record<string, unknown>;
  return Object.keys(message).some(
    (key) => MARKS.has(key) && !(saysLearned(key, values[key]) ?? true),
  );
}

/** Whether a message's key marks it as learned; undefined for any other key. */
export function saysLearned(key: string, value: unknown): boolean | undefined {
  const flag = MARKS.has(key) ? flagOf(value) : undefined;
  return flag === undefined ? undefined : flag === MARKS.get(key);
}

/** A mark as a boolean. pandas and Arrow write `0.0` for 0 in a column where other rows lack the key. */
function flagOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "number" && !(value instanceof WholeFloat)) return undefined;
  const number = Number(value);
  return number === 0 || number === 1 ? number === 1 : undefined;
}
