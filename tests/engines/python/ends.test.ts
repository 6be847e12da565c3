import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { dpo } from "../../../engines/objectives/dpo.ts";
import type { Objective } from "../../../engines/objectives/objective.ts";
import { sft } from "../../../engines/objectives/sft.ts";
import { readDataset } from "../../../engines/training/tokenizedDataset.ts";
import { CHATML, LLAMA3, saveBaseModel } from "../../baseModel.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { canonical } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import {
  type WarmPython,
  ENV,
  PYTHON,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const ENGINE = fileURLToPath(new URL("../../../engines/python", import.meta.url));
const PROGRAM = fileURLToPath(new URL("ends.py", import.meta.url));

type Model = Parameters<typeof saveBaseModel>[1];
const CHATML_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const TURN_END = 258;
const QWEN: Model = {
  ...{ specials: CHATML_TOKENS, template: CHATML, tokenizer: { eos_token: "<|endoftext|>" } },
  ...{ config: { eos_token_id: 256 }, generation: { eos_token_id: 256 } },
};
const LLAMA: Model = {
  specials: [
    ...["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"],
    "<|eot_id|>",
  ],
  ...{ template: LLAMA3, bos: "<|begin_of_text|>", tokenizer: { eos_token: "<|end_of_text|>" } },
};
const INST: Model = {
  ...{ specials: ["<s>", "</s>"], bos: "<s>", tokenizer: { eos_token: "</s>" } },
  template:
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}",
};
const PLAIN =
  "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
/** A turn ends where the next begins. */
const NEXT =
  "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

const RENDERED =
  "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
const TURNS = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello" },
  { role: "user", content: "So" },
  { role: "assistant", content: "Yes" },
];
const ROWS = [
  { prompt: "Hi", completion: "Hello" },
  { messages: TURNS },
  { text: `${RENDERED}Hello<|eot_id|>\n` },
  { prompt: RENDERED, completion: "Hello<|eot_id|>\n" },
  { prompt: RENDERED.replace("<|begin_of_text|>", ""), completion: "Hello" },
  { prompt: "Be <|eot_id|>", completion: "kind<|eot_id|>" },
  { prompt: "[INST] Hi [/INST]", completion: " Hello" },
  {
    prompt: "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    completion: "Hello<|im_end|>",
  },
  { text: "<s>[INST] Hi [/INST] Hello</s>" },
];
const PAIR = { prompt: RENDERED, chosen: "Hello<|eot_id|>", rejected: "No" };

const MODELS: [name: string, model: Model][] = [
  ["Qwen's base", QWEN],
  ["Llama 3's base", LLAMA],
  ["an end in config.json alone", { ...QWEN, tokenizer: {}, generation: undefined }],
  ["an end in generation_config.json alone", { ...QWEN, tokenizer: {}, config: {} }],
  [
    "an end that an empty generation_config.json leaves out",
    { ...QWEN, tokenizer: {}, generation: {} },
  ],
  ["several ends", { ...QWEN, generation: { eos_token_id: [256, 258] } }],
  ["an end in the template alone", { ...QWEN, tokenizer: {}, config: {}, generation: {} }],
  ["no end", { specials: [], template: PLAIN }],
  ["a template without an end", { ...QWEN, template: PLAIN }],
  [
    "turns that end where the next begin",
    { specials: ["<|user|>", "<|assistant|>"], template: NEXT },
  ],
  ["a template of words", INST],
  ["no template", { ...LLAMA, template: undefined }],
];

/** A template of ChatML that writes something before and after each message. */
function written(before: string, after = ""): string {
  return CHATML.replace("<|im_start|>{{ m.role", `${before}$&`).replace(
    "{% endfor %}",
    `${after}$&`,
  );
}

describe.runIf(hasPython)("with Python", () => {
  const scratch = createScratch();
  let warm: WarmPython;
  beforeAll(async () => {
    warm = await startWarmPython();
  });
  afterAll(async () => {
    await warm.close();
    scratch.remove();
  });
  const engines = () => [createEmbeddedEngine(), createPythonEngine({ path: warm.path, env: ENV })];

  function printed(...words: string[]): unknown {
    const told = execFileSync(PYTHON, ["-B", PROGRAM, ENGINE, ...words], {
      ...{ encoding: "utf8", env: { ...process.env, ...ENV } },
    });
    return JSON.parse(told);
  }

  /** What the embedded engine learns of rows, and the notes on them. */
  function learned(model: string, path: string, objective: Objective) {
    const { tokenizer } = openTokenizer(model, 272);
    const rows: unknown[] = [];
    const notes: string[] = [];
    readDataset(path, 256, {
      ...{ objective, tokenizer },
      onNote: (note) => void notes.push(note),
      onRow({ sequences }) {
        const flat = sequences.map((spans) => [
          spans.flatMap(({ tokens }) => [...tokens]),
          spans.flatMap(({ tokens, isLearned }) => [...tokens].map(() => isLearned)),
        ]);
        rows.push(flat);
      },
    });
    return { rows, notes };
  }

  it.each([
    ["sft", sft, ROWS],
    ["dpo", dpo({ type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 }), [PAIR]],
  ] as const)("rows are learned alike, with the same notes: %s", (kind, objective, rows) => {
    const path = join(scratch.directory(), "rows.jsonl");
    writeFileSync(path, canonical([...rows], objective.format));
    const folders = MODELS.map(([, model]) => {
      const folder = scratch.directory();
      saveBaseModel(folder, model);
      return folder;
    });
    const theirs = printed("rows", path, kind, ...folders) as unknown[];
    for (const [i, [name]] of MODELS.entries()) {
      expect(learned(folders[i]!, path, objective as Objective), name).toEqual(theirs[i]);
    }
  });

  it("an answer's end is found in a template that demands a system message, in each engine", () => {
    const demand =
      "{% if messages[0].role != 'system' %}{{ raise_exception('no system') }}{% endif %}";
    const [folder, path] = [scratch.directory(), join(scratch.directory(), "rows.jsonl")];
    saveBaseModel(folder, { ...QWEN, template: demand + CHATML });
    const messages = [{ role: "system", content: "Be short." }, ...TURNS];
    writeFileSync(path, canonical([{ messages }]));
    const ours = learned(folder, path, sft);
    expect(ours.notes).toEqual([]);
    expect(printed("rows", path, "sft", folder)).toEqual([ours]);
  });

  it("what a row tells the chat template reaches it, in each engine, as with TRL", () => {
    const folder = scratch.directory();
    const template = `{% for text in documents or [] %}{{ text.title }}{% endfor %}{{ mood | default("no mood") }}{% if not talks is defined or talks %}talk{% endif %}${written("{% if m.role != 'system' %}", "{% endif %}")}`;
    saveBaseModel(folder, { ...QWEN, template });
    const [question, answer] = TURNS;
    const kwargs = [
      { mood: "calm é", talks: false },
      { talks: true, unread: [1, { a: 2.5 }], documents: [{ title: "one", text: "" }] },
      {},
      undefined,
    ];
    const rows = kwargs.map((given) => ({
      messages: TURNS,
      ...(given && { chat_template_kwargs: given }),
    }));
    const system = { messages: [{ role: "system", content: "Be short." }, ...TURNS] };
    const theirs = printed("kwargs", JSON.stringify([...rows, system]), folder) as unknown[][];
    const { tokenizer } = openTokenizer(folder, 272);
    const ask = (messages: object[], given?: object) =>
      tokenizer.promptTokens(
        { messages, ...(given && { chatTemplateKwargs: given }) } as never,
        "message",
      );
    for (const [i, [trl, prompt]] of theirs.slice(0, -1).entries()) {
      const { unread, ...read } = kwargs[i] ?? {};
      if (unread) {
        expect(prompt).toMatch(/^The model's chat template does not read "unread"\./);
        continue;
      }
      expect(ask(TURNS.slice(0, -1), read)).toEqual(prompt);
      expect((trl as number[]).slice(0, (prompt as number[]).length)).toEqual(prompt);
    }
    expect(theirs.at(-1)?.[1]).toMatch(
      /^The model's chat template leaves out the system message in/,
    );
    const path = join(scratch.directory(), "rows.jsonl");
    for (const [kind, objective, made] of [
      ["sft", sft, rows],
      [
        "dpo",
        dpo({ type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 }),
        rows.map(({ messages: _, ...more }) => ({
          ...{ prompt: [question], chosen: [answer], rejected: "No", ...more },
        })),
      ],
    ] as const) {
      writeFileSync(path, canonical([...made], objective.format));
      const ours = learned(folder, path, objective);
      expect([ours]).toEqual(printed("rows", path, kind, folder));
      if (kind === "sft") {
        const ids = (ours.rows as [[number[]]][]).map(([[one]]) => one);
        expect(ids).toEqual(theirs.slice(0, -1).map(([trl]) => trl));
      }
    }
  });

  it("what a template leaves out of messages is told, in each engine", () => {
    const path = join(scratch.directory(), "rows.jsonl");
    const [question, answer] = TURNS;
    const thought = { ...answer, thinking: "hm", reasoning: " " };
    const rows = [
      { messages: [{ role: "system", content: "Be short." }, ...TURNS] },
      { messages: [question, answer, { role: "system", content: "Be kind." }, ...TURNS] },
      { messages: [question, { role: "tool", content: "72" }, answer] },
      { messages: [question, thought] },
      { messages: [question, { ...answer, reasoning_content: "hm" }] },
    ];
    writeFileSync(path, canonical(rows));
    const of = (part: string, row: number, advice: string) =>
      `warning: the model's chat template leaves out ${part} in 1 of 5 rows\n  the first is ${path}:${row}\n  ${advice}`;
    const told = [
      of("the system message", 1, "write it in the first user message"),
      of("the system message after the first message", 2, "write all of it in the first message"),
      of(
        "the tool results",
        3,
        "use a model whose template supports tools, or put the result in a user message",
      ),
      of('"thinking"', 4, 'name it "reasoning_content", which the template writes'),
      of('"reasoning_content"', 5, 'write it in "content", or leave it out'),
    ];
    const unread = of('"thinking"', 4, 'write it in "content", or leave it out');
    const cases: [template: string, notes: string[]][] = [
      // Two roles alone.
      [
        written("{% if m.role in ['user', 'assistant'] %}", "{% endif %}"),
        [...told.slice(0, 3), unread, told[4]!],
      ],
      // The first system message, as gpt-oss.
      [
        written("{% if m.role != 'system' or loop.first %}", "{% endif %}"),
        [told[1]!, unread, told[4]!],
      ],
      // Thoughts under one of the names, as Qwen 3.
      [CHATML.replace("{{ m.content", "{{ m.reasoning_content }}$&"), [told[3]!]],
    ];
    const folders = cases.map(([template]) => {
      const folder = scratch.directory();
      saveBaseModel(folder, { ...QWEN, template });
      return folder;
    });
    const theirs = printed("rows", path, "sft", ...folders) as unknown[];
    for (const [i, [, notes]] of cases.entries()) {
      const ours = learned(folders[i]!, path, sft);
      expect(ours.notes).toEqual(notes);
      expect(ours).toEqual(theirs[i]);
    }
  });

  it("a base model that was trained stops at its template's end, in each engine and in transformers", async () => {
    const folder = scratch.directory();
    saveBaseModel(folder, QWEN);
    const words = ["red", "green", "blue", "black", "white", "pink", "gold", "grey"];
    const rows = words.map((word) => ({ prompt: `Say ${word}`, completion: word }));
    const path = join(scratch.directory(), "rows.jsonl");
    writeFileSync(path, canonical(rows));
    const exports: string[] = [];
    for (const engine of engines()) {
      const directory = scratch.directory();
      const config = engine.prepare({
        ...{ model: folder, dataset: { type: "jsonl", path }, maxSteps: 60, saveSteps: 60 },
        ...{ batchSize: 8, learningRate: 0.02 },
      });
      const { signal } = new AbortController();
      await engine.train({ config, directory, signal, onEvent: () => {}, onNote: () => {} });
      const saved = join(directory, "artifacts/step-60");
      for (const other of engines()) {
        const model = await other.load(saved);
        expect(await model.infer({ prompt: "Say blue", maxTokens: 40 })).toMatchObject({
          ...{ text: "blue", finishReason: "stop" },
        });
        await model.close();
      }
      const generation: unknown = JSON.parse(
        readFileSync(join(saved, "generation_config.json"), "utf8"),
      );
      expect(generation).toMatchObject({ eos_token_id: [256, TURN_END] });
      const { path: exported } = await exportModel(saved, scratch.directory(), {
        format: "safetensors",
      });
      exports.push(exported);
    }
    const prompts = JSON.stringify(words.map((word) => `Say ${word}`));
    const answers = words.map((word) => [...Buffer.from(word), TURN_END]);
    expect(printed("answers", prompts, ...exports)).toEqual([answers, answers]);
  });
});
