import { expect, test } from "vitest";
import { createAnswerAssembler } from "../../../engines/answers/answerAssembler.ts";
import { createCallReader } from "../../../engines/answers/tools/callReader.ts";
import {
  type ToolCallFormat,
  findToolCallFormat,
} from "../../../engines/answers/tools/toolCallFormat.ts";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import { createFileTokenizer } from "../../../engines/tokens/fileTokenizer.ts";
import { findStopTokens } from "../../../engines/tokens/stopTokens.ts";
import type { InferDelta } from "../../../protocol/infer.ts";
import { STYLES } from "../tokens/styles.ts";
import { TEMPLATES } from "./toolTemplates.ts";

const STYLE = STYLES["SmolLM"]!;
const MARKER = { id: STYLE.size, content: "[TOOL_CALLS]", special: true };

function formatOf(name: keyof typeof TEMPLATES): ToolCallFormat | undefined {
  const specials = { bos_token: "<|im_start|>", eos_token: "<|im_end|>" };
  const file = STYLE.tokenizer as { added_tokens: object[] };
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const tokenizer = { ...file, added_tokens: [...file.added_tokens, { ...plain, ...MARKER }] };
  const render = createRender(TEMPLATES[name], specials, "model");
  const files = { tokenizer, config: {}, render };
  const stopTokens = findStopTokens({ ...files, eos: specials.eos_token, generation: undefined });
  return findToolCallFormat(
    createFileTokenizer({
      ...{ ...files, path: "tokenizer.json", vocabulary: STYLE.size + 1, specials, stopTokens },
    }),
  );
}

test("the format of calls is found in what the chat template writes", () => {
  const delimiters = (key: string) => ['{"name": "', `", "${key}": `, "}"];
  expect(formatOf("hermes")).toEqual({
    ...{ begin: "<tool_call>\n", separator: "\n</tool_call><tool_call>\n" },
    ...{
      end: "\n</tool_call>",
      delimiters: delimiters("arguments"),
      argumentsKey: "arguments",
      markers: [],
    },
  });
  expect(formatOf("llama")).toEqual({
    ...{ begin: "", separator: undefined, end: "" },
    ...{ delimiters: delimiters("parameters"), argumentsKey: "parameters", markers: [] },
  });
  expect(formatOf("mistral")).toEqual({
    ...{ begin: "[TOOL_CALLS] [", separator: ", ", end: "]" },
    ...{ delimiters: delimiters("arguments"), argumentsKey: "arguments", markers: [MARKER.id] },
  });
  expect(formatOf("unknown")).toBeUndefined();
});

/** What a reader tells of a text, whichever parts it comes in. */
function readAll(
  name: keyof typeof TEMPLATES,
  text: string,
  { isCut = false, isHeld = false } = {},
) {
  const found = [1, 2, 3, 7, text.length].map((size) => {
    const reader = createCallReader(formatOf(name)!, ["f", "g"], isHeld);
    const reads: ReturnType<typeof reader.push>[] = [];
    for (let at = 0; at < text.length; at += size)
      reads.push(reader.push(text.slice(at, at + size)));
    const { text: rest, truncatedCall } = reader.flush(isCut);
    return {
      text: reads.map((read) => read.text).join("") + rest,
      ...(truncatedCall && { truncated: truncatedCall.function }),
      calls: reads.flatMap((read) =>
        read.toolCalls.map(
          ({ function: called }) => `${called.name} ${called.arguments as string}`,
        ),
      ),
    };
  });
  for (const one of found) expect(one).toEqual(found[0]);
  return found[0]!;
}

const F = '{"name": "f", "arguments": {"a": "}{\\"", "b": [1]}}';
const G = '{"arguments":{},"name":"g"}';
const CALLS = ['f {"a": "}{\\"", "b": [1]}', "g {}"];
const EXACT = '{"id": 2512292042121000001, "10": 1.0, "2" : 1e22,"a":{"b": -0.0}}';

test.each([
  ["hermes", `<tool_call>\n${F}\n</tool_call>`, "", CALLS.slice(0, 1)],
  [
    "hermes",
    `Well.\n<tool_call>${F}</tool_call>\n<tool_call>\n${G}\n</tool_call>`,
    "Well.\n",
    CALLS,
  ],
  ["hermes", `<tool_call>${F}</tool_call> and more`, "and more", CALLS.slice(0, 1)],
  ["hermes", `<tool_call>${F}`, "", CALLS.slice(0, 1)],
  ["mistral", `[TOOL_CALLS] [${F}, ${G}]`, "", CALLS],
  ["mistral", `[TOOL_CALLS][${F},${G}]`, "", CALLS],
  ["mistral", `[TOOL_CALLS] [${F}, {"name": "g", `, ', {"name": "g", ', CALLS.slice(0, 1)],
  ["llama", `{"name": "g", "parameters": {}}`, "", ["g {}"]],
  ["llama", ` {"name": "g", "parameters": {}}\n`, "", ["g {}"]],
  ["llama", `{"name": "g", "parameters": ${EXACT}}`, "", [`g ${EXACT}`]],
  ["hermes", `<tool_call>{"arguments":${EXACT} ,"name":"g"}`, "", [`g ${EXACT}`]],
  ["mistral", `[TOOL_CALLS] [{"name": "g", "arguments": ${EXACT}}]`, "", [`g ${EXACT}`]],
  ["llama", `{"parameters": {"a": 1}, "name": "g", "parameters": {}}`, "", ["g {}"]],
] as const)("%s: calls are told from %j", (name, answer, text, calls) => {
  expect(readAll(name, answer)).toEqual({ text, calls });
});

test.each([
  ["hermes", "no call at all <tool"],
  ["hermes", '<tool_call>{"name": "f", "arguments": {"a": }}</tool_call>'],
  ["hermes", '<tool_call>\n{"name": "h", "arguments": {}}\n</tool_call>'],
  ["hermes", '<tool_call>{"name": "f", "arguments": "x"}</tool_call>'],
  ["hermes", '<tool_call>{"name": "f", "arguments": [1]}</tool_call>'],
  ["hermes", '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'],
  ["hermes", '<tool_call>{"name": "f", "arguments": {} /* */}</tool_call>'],
  ["hermes", '<tool_call>{"name": "f", "argum'],
  ["mistral", `[TOOL_CALLS] ${F}`],
  ["llama", '{"name": "f", "arguments": {}}'],
  ["llama", 'Here is {"name": "f", "parameters": {}}'],
  ["llama", '{"a": 1'],
] as const)("%s: what is no call of a tool stays text: %j", (name, answer) => {
  expect(readAll(name, answer)).toEqual({ text: answer, calls: [] });
});

test("a broken call stays text, and the next is a call", () => {
  const broken = "<tool_call>{]}</tool_call>";
  expect(readAll("hermes", `${broken}<tool_call>${G}</tool_call>`)).toEqual({
    ...{ text: broken, calls: ["g {}"] },
  });
});

test.each([
  ["hermes", '<tool_call>\n{"name": "f", "argum', "", [], ""],
  ["hermes", '<tool_call>\n{"name": "f", "arguments": {"a": "}{", "b', "", [], '{"a": "}{", "b'],
  ["hermes", "Well.\n<tool_call>", "Well.\n", []],
  ["hermes", `<tool_call>${F}</tool_call>\n<tool_call>\n{"na`, "", CALLS.slice(0, 1)],
  ["hermes", "Well, <tool", "Well, <tool", []],
  ["hermes", "Write <tool_call> before", "Write <tool_call> before", []],
  ["mistral", `[TOOL_CALLS] [${F}, {"name": "f", `, "", CALLS.slice(0, 1), ""],
  ["mistral", "[TOOL_CALLS]", "", []],
  ["llama", '{"name": "f", "para', "", [], ""],
  ["llama", '{"name": "f", "parameters": {"a": [1, ', "", [], '{"a": [1, '],
  ["llama", '{"name": ', '{"name": ', []],
  ["llama", '{"a": 1', '{"a": 1', []],
] as const)("%s: a call that is cut off is no text: %j", (name, answer, text, calls, begun?) => {
  const cut = begun !== undefined && { truncated: { name: "f", arguments: begun } };
  expect(readAll(name, answer, { isCut: true })).toEqual({ text, calls, ...cut });
});

test.each([
  ["hermes", "<tool_c"],
  ["llama", '{"na'],
] as const)(
  "%s: where only calls may come, the beginning of one is no text: %j",
  (name, answer) => {
    expect(readAll(name, answer, { isCut: true, isHeld: true })).toEqual({ text: "", calls: [] });
  },
);

test("an answer that may have one call stopTokens with it", () => {
  for (const [more, ended] of [
    [{ parallelToolCalls: false }, true],
    [{ toolChoice: { name: "f" } }, true],
    [{}, false],
  ] as const) {
    const pieces: InferDelta[] = [];
    const reader = createCallReader(formatOf("hermes")!, ["f", "g"]);
    const assembler = createAnswerAssembler({ prompt: "?", ...more }, reader, (piece) =>
      pieces.push(piece),
    );
    expect([assembler.add("Well. <tool_call>"), assembler.add(F)]).toEqual([false, ended]);
    if (!ended) assembler.end("stop");
    const call = { type: "function", function: { name: "f", arguments: CALLS[0]!.slice(2) } };
    expect(pieces).toEqual([{ text: "Well. " }, { text: "", toolCalls: [call] }]);
    expect(assembler.result(7)).toEqual({
      ...{ text: "Well. ", toolCalls: [call], finishReason: "toolCalls" },
      ...{ promptTokens: 7, tokens: 2 },
    });
  }
});
