import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { type Style, STYLES, writeTokenizer } from "./styles.ts";

type Parts = Record<string, unknown>;
type Tokenizer = Style["tokenizer"] & { added_tokens: object[]; model: object };

/** A published tokenizer with other parts, opened as a model's directory is. */
function open(name: string, { model, added_tokens: added = [], ...parts }: Parts) {
  const path = join(scratchDirectory(), "model");
  mkdirSync(path);
  const style = STYLES[name]!;
  const before = style.tokenizer as Tokenizer;
  const tokenizer = {
    ...before,
    ...parts,
    added_tokens: [...before.added_tokens, ...(added as object[])],
    model: { ...before.model, ...(model as object) },
  };
  writeTokenizer(path, { ...style, tokenizer });
  const { promptTokens } = openTokenizer(path, style.size + 1).tokenizer;
  return {
    ids: (prompt: string) => promptTokens({ prompt }, "text"),
  };
}

function added(content: string, rules: object) {
  const none = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return { ...none, id: 0, content, special: false, ...rules };
}

// The ids are tokenizers 0.23.3's, without the text's beginning.
test.each([
  ["tok", [420]],
  ["a tok.", [68, 224, 420, 17]],
  ["token", [87, 82, 78, 72, 81]],
  ["xtok tok", [91, 87, 82, 78, 224, 420]],
  ["_tok", [66, 87, 82, 78]],
])("an added token that is a single word is found beside none of its letters: %j", (text, ids) => {
  const { ids: idsOf } = open("Llama 3", { added_tokens: [added("tok", { single_word: true })] });
  expect(idsOf(text).slice(1)).toEqual(ids);
});

test.each([
  ["Llama 3", "a \n\t<t>\n b", [68, 420, 69]],
  ["Llama 3", " <t>", [420]],
  ["Llama 3", "<t>\n<t>", [420, 420]],
  ["Gemma 3", "a \n<t>\n b", [281, 422, 282]],
])(
  "an added token takes the white space beside it along, of any kind: %s, %j",
  (name, text, ids) => {
    const rules = { lstrip: true, rstrip: true };
    const { ids: idsOf } = open(name, { added_tokens: [added("<t>", rules)] });
    expect(idsOf(text).slice(1)).toEqual(ids);
  },
);

test("a newline that is a token itself stays one, beside a token that takes white space along", () => {
  const rules = { lstrip: true, rstrip: true };
  const tokens = [added("\n\n", {}), added("<t>", rules)];
  expect(open("Gemma 3", { added_tokens: tokens }).ids("a\n\n<t>\n\nb").slice(1)).toEqual([
    281, 328, 422, 328, 282,
  ]);
});

test.each([
  ["always", true, "  the", [313, 374]],
  ["always", false, "  the", [405]],
  // A text that begins so itself begins so once.
  ["always", true, "<s>the the", [374, 374]],
  ["first", true, "<s>the the", [323, 374]],
  ["first", false, "the the", [374, 374]],
  ["never", true, "  the", [313, 374]],
  ["never", true, "the the", [323, 374]],
])("Metaspace puts a space %s and splits (%s): %j", (scheme, split, text, ids) => {
  const metaspace = { type: "Metaspace", replacement: "▁", prepend_scheme: scheme, split };
  const { ids: idsOf } = open("Llama 2", { normalizer: null, pre_tokenizer: metaspace });
  expect(idsOf(text).slice(1)).toEqual(ids);
});

const FIRST = { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: true };

test.each([
  ["model", { dropout: 0.1 }, 'a model with "dropout"'],
  ["model", { type: "Morphemes" }, 'a model of type "Morphemes"'],
  ["normalizer", { type: "Romanize" }, 'a normalizer of type "Romanize"'],
  ["pre_tokenizer", { type: "UnicodeScripts" }, 'a pre_tokenizer of type "UnicodeScripts"'],
  ["version", "2.0", 'the version "2.0"'],
  ["decoder", { type: "CTC" }, 'a decoder of type "CTC"'],
  ["post_processor", { type: "Twice" }, 'a post_processor of type "Twice"'],
  [
    "pre_tokenizer",
    { type: "Split", pattern: { Regex: "(?<!a" }, behavior: "Isolated", invert: false },
    'the pattern "(?<!a"',
  ],
  [
    "pre_tokenizer",
    { type: "Split", pattern: { String: "a" }, behavior: "Kept", invert: false },
    'the behavior "Kept"',
  ],
  ["normalizer", { type: "BertNormalizer" }, 'a normalizer of type "BertNormalizer"'],
  ["pre_tokenizer", { type: "FixedLength" }, 'a pre_tokenizer of type "FixedLength"'],
  ["decoder", { type: "BPEDecoder" }, 'a decoder of type "BPEDecoder"'],
  ["model", { type: "WordLevel" }, 'a model of type "WordLevel"'],
  [
    "model",
    { type: "BPE", vocab: {}, merges: [], end_of_word_suffix: "</w>" },
    'a model with "end_of_word_suffix"',
  ],
])("a %s that Kit does not do as Python does is refused by name: %j", (part, value, named) => {
  expect(() => open("Llama 2", { [part]: value })).toThrow(
    `tokenizer.json has ${named}, which Kit doesn't support. Use engine: python(), or another model.`,
  );
});

test("a space before the text alone is refused where what it begins with may go", () => {
  const strip = { type: "Strip", strip_left: true, strip_right: false };
  expect(() => open("Llama 2", { normalizer: strip, pre_tokenizer: FIRST })).toThrow(
    'has the prepend_scheme "first" with a normalizer that may remove the first character, which Kit doesn\'t support',
  );
});

test.each([
  [
    { type: "NFKD" },
    { type: "Split", pattern: { Regex: "." }, behavior: "Isolated", invert: true },
  ],
  [null, { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }],
])("and where it may be cut, behind %j and %j", (normalizer, step) => {
  const pre = { type: "Sequence", pretokenizers: [step, FIRST] };
  expect(() => open("Llama 2", { normalizer, pre_tokenizer: pre })).toThrow(
    'has the prepend_scheme "first" after steps that may split the normalized first character, which Kit doesn\'t support',
  );
});

test.each([
  ["added_tokens", "none", "its added_tokens are not a list of objects"],
  ["added_tokens", { id: 7 }, '"content" is not a string'],
  ["normalizer", { type: "Prepend" }, '"prepend" is not a string'],
  ["pre_tokenizer", { ...FIRST, replacement: "▁▁" }, '"replacement" is not one character'],
  ["model", { merges: [["the", "nothing"]] }, 'its merge ["the","nothing"] is not in'],
  ["model", { vocab: [] }, 'the "vocab" of its model is not an object of ids'],
  // Which of them an answer has is chance, with Hugging Face's tokenizers.
  ["model", { vocab: { a: 0, b: 0 } }, "two tokens of its vocabulary have the id 0"],
])("a damaged %s is told: %j", (part, value, problem) => {
  const parts = { [part]: part === "added_tokens" ? [value] : value };
  expect(() => open("Llama 2", parts)).toThrow(`tokenizer.json cannot be read: ${problem}`);
});
