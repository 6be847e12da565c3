import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createPipeline } from "../../../engines/tokens/pipeline.ts";
import { isKitError } from "../../../protocol/error.ts";

/** A tokenizer of random parts, and a digest of what `reference/parts.py` found with it. */
interface Case {
  tokenizer: Record<string, unknown>;
  texts: string[];
  rows: string;
}

const path = process.env["KIT_PARTS"] ?? new URL("./reference/parts.json", import.meta.url);
const CASES = JSON.parse(readFileSync(path, "utf8")) as Case[];

/** Refused by name; more would say that Kit has lost something. */
const MOST_REFUSED = CASES.length / 20;

function rowsOf({ tokenizer, texts }: Case) {
  const { encode, decode } = createPipeline("tokenizer.json", tokenizer);
  const ids = (text: string, withSpecials: boolean) =>
    encode(text, withSpecials).map(({ id }) => id);
  return texts.map((text) => {
    const whole = ids(text, true);
    return [whole, ids(text, false), decode(whole, true), decode(whole, false)];
  });
}

function outcome(one: Case): string {
  try {
    const rows = JSON.stringify(rowsOf(one));
    const digest = createHash("sha256").update(rows).digest("hex").slice(0, 12);
    return digest === one.rows ? "same" : `differs: ${JSON.stringify(one.tokenizer)}`;
  } catch (error) {
    const isByName = isKitError(error) && error.message.includes("which Kit doesn't support");
    return isByName ? "refused" : String(error);
  }
}

test("any part of a tokenizer.json does what Hugging Face's tokenizers makes of it, or is refused by name", () => {
  const outcomes = CASES.map(outcome);
  expect(outcomes.filter((one) => one !== "same" && one !== "refused")).toEqual([]);
  expect(outcomes.filter((one) => one === "refused").length).toBeLessThanOrEqual(MOST_REFUSED);
});
