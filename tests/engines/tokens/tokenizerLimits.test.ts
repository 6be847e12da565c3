import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { type Style, STYLES, writeTokenizer } from "./styles.ts";

const STYLE = STYLES["Llama 3"] ?? Object.values(STYLES)[0]!;

/** A published tokenizer with other parts. */
function open(parts: object) {
  const path = join(scratchDirectory(), "model");
  mkdirSync(path);
  const style: Style = { ...STYLE, tokenizer: { ...STYLE.tokenizer, ...parts } };
  writeTokenizer(path, style);
  return { path: join(path, "tokenizer.json"), ...openTokenizer(path, STYLE.size) };
}

const doubling = { type: "Replace", pattern: { String: "a" }, content: "aa" };
const inTurn = (times: number) => Array.from({ length: times }, () => doubling);

const TEXT = { Sequence: { id: "A", type_id: 0 } };
const TWICE = { type: "TemplateProcessing", single: [TEXT, TEXT], pair: [], special_tokens: {} };
const BESIDE_ALL = { type: "Replace", pattern: { Regex: "" }, content: "a" };
const WIDE = { type: "Metaspace", replacement: "▁", str_rep: "  ", prepend_scheme: "never" };

test.each([
  ["normalizer", { type: "Sequence", normalizers: inTurn(40) }],
  ["normalizer", { type: "Prepend", prepend: "a".repeat(1_000_000) }],
  ["pre_tokenizer", { type: "Sequence", pretokenizers: inTurn(40) }],
  ["decoder", { type: "Sequence", decoders: inTurn(40) }],
  ["post_processor", { type: "Sequence", processors: Array(40).fill(TWICE) }],
  ["normalizer", { type: "Sequence", normalizers: Array(40).fill(BESIDE_ALL) }],
  ["pre_tokenizer", { type: "Sequence", pretokenizers: Array(40).fill(WIDE) }],
])("a %s that makes texts far longer is refused: %j", (part, steps) => {
  expect(() => open({ [part]: steps })).toThrow(
    /tokenizer\.json has replacements that could make a text more than 256 times longer/,
  );
});

test("replacements of a real tokenizer are none of these", () => {
  const spaces = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const normalizers = [{ type: "Prepend", prepend: "▁" }, ...inTurn(3), spaces];
  const { tokenizer } = open({ normalizer: { type: "Sequence", normalizers } });
  expect(tokenizer.sequencesOf({ text: "a b" })).not.toEqual([]);
});

test("a pattern that tries every way to split a text is stopped, wherever it is used", () => {
  const Regex = "^(([a-z0-9 ])+.)+[A-Z]([a-z0-9 ])+$";
  const split = { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false };
  const { tokenizer, path } = open({ pre_tokenizer: split });
  const text = "a".repeat(60);
  const stopped = `The tokenizer at ${path} takes more than 4 s for a text of 71 characters. Use another model.`;
  expect(() => tokenizer.sequencesOf({ text })).toThrow(stopped);
  expect(tokenizer.sequencesOf({ text: "A" })).not.toEqual([]);
});
