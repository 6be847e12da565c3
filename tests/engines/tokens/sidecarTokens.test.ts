import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { STYLES } from "./styles.ts";

/** A model's files, and what `reference/companions.py` found with them. */
interface Case {
  style: string;
  /** Added tokens of `tokenizer.json`. */
  own: object[];
  /** The files beside it, by their names. */
  files: Record<string, object>;
  texts: string[];
  ids: number[][];
  decoded: string[];
}

const CASES = JSON.parse(
  readFileSync(new URL("./reference/companions.json", import.meta.url), "utf8"),
) as Case[];

function open({ style, own, files }: Pick<Case, "style" | "own" | "files">, room = 20) {
  const path = join(scratchDirectory(), "model");
  mkdirSync(path);
  const { tokenizer, size } = STYLES[style]!;
  const { added_tokens: added } = tokenizer as { added_tokens: object[] };
  const whole = { ...tokenizer, added_tokens: [...added, ...own] };
  for (const [name, content] of Object.entries({ ...files, "tokenizer.json": whole })) {
    writeFileSync(join(path, name), JSON.stringify(content));
  }
  return openTokenizer(path, size + room).tokenizer;
}

/** Llama 2's. */
const LLAMA_BOS = 1;

test("added tokens of the files beside tokenizer.json are those of transformers", () => {
  for (const one of CASES) {
    const { promptTokens, decode } = open(one);
    const ids = one.texts.map((prompt) => promptTokens({ prompt }, "text"));
    // A text that begins with the model's own beginning has it once.
    const expected = one.ids.map((all) =>
      all[0] === LLAMA_BOS && all[1] === LLAMA_BOS ? all.slice(1) : all,
    );
    expect({ files: one.files, ids }).toEqual({ files: one.files, ids: expected });
    // Kit leaves a character out that an answer ends within.
    const decoded = one.decoded.map((text) => text.replace(/\uFFFD+$/, ""));
    expect(ids.map((tokens) => decode(tokens))).toEqual(decoded);
  }
});

const CALL = { lstrip: false, normalized: false, rstrip: false, single_word: false };

test.each([
  ["tokenizer_config.json", { extra_special_tokens: ["<call>"] }],
  ["tokenizer_config.json", { additional_special_tokens: ["<call>"] }],
  ["tokenizer_config.json", { call_token: "<call>" }],
  [
    "tokenizer_config.json",
    { added_tokens_decoder: { 420: { ...CALL, content: "<call>", special: true } } },
  ],
  ["special_tokens_map.json", { additional_special_tokens: ["<call>"] }],
  ["added_tokens.json", { "<call>": 420 }],
])("a token that only %s has is one token, and refused beyond the weights: %j", (name, content) => {
  const files = { style: "Llama 3", own: [], files: { [name]: content } };
  const { promptTokens, show } = open(files);
  const tokens = promptTokens({ prompt: "a<call>b" }, "text");
  expect(tokens.map((token) => show([token])).slice(-3)).toEqual(["a", "<call>", "b"]);
  expect(tokens.at(-2)).toBe(420);
  expect(() => open(files, 0).promptTokens({ prompt: "a<call>b" }, "text")).toThrow(
    'gives the token "<call>" the id 420, but the model has ids from 0 to 419.',
  );
});
