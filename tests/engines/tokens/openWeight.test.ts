import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { InferRequest } from "../../../protocol/infer.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { ROWS, artifactNames, losses, run, tinyConfig } from "../embedded/run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { FAMILIES, tinyWeights } from "../embedded/tiny.ts";
import { STYLES, writeTokenizer } from "./styles.ts";

const STYLE = STYLES["Qwen 3"]!;
/** More numbers than tokens, as models have. */
const SHAPE = {
  ...FAMILIES["Qwen 3"]!,
  width: 16,
  intermediateSize: 24,
  vocabulary: STYLE.size + 5,
};
const LORA = { r: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "gate_proj"] };

/** The directory of an instruct model, as others publish them. @param config of its tokenizer */
function publishedModel(config = {}, context = 96): string {
  const path = join(scratchDirectory(), "model");
  const shape = { ...SHAPE, context };
  saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
  writeTokenizer(path, STYLE, config);
  const written = JSON.parse(readFileSync(join(path, "config.json"), "utf8")) as object;
  writeFileSync(join(path, "config.json"), JSON.stringify({ ...written, _name_or_path: path }));
  writeFileSync(join(path, "generation_config.json"), '{"eos_token_id":[1,2]}');
  return path;
}

const textOf = (path: string, name: string) => readFileSync(join(path, name), "utf8");

async function answer(path: string, request: InferRequest) {
  const model = await createEmbeddedEngine().load(path);
  try {
    return await model.infer(request);
  } finally {
    await model.close();
  }
}

test("a published model is trained whole, keeps its tokenizer, and answers with what it learned", async () => {
  const model = publishedModel();
  const config = tinyConfig({ model, maxSteps: 120, saveSteps: 120, batchSize: 16 });
  const { directory, events } = await run(config);
  const [first = NaN] = losses({ events }) as number[];
  expect(losses({ events }).at(-1)).toBeLessThan(first / 4);
  const saved = join(directory, "artifacts/step-120");
  for (const name of ["tokenizer.json", "generation_config.json"]) {
    expect(textOf(saved, name)).toBe(textOf(model, name));
  }
  expect(textOf(saved, "config.json")).not.toContain(model);
  expect(JSON.parse(textOf(saved, "config.json"))).toMatchObject({
    model_type: "qwen3",
    vocab_size: SHAPE.vocabulary,
    torch_dtype: "float32",
  });
  expect(await answer(saved, { prompt: "2+3" })).toEqual({
    text: "5",
    finishReason: "stop",
    promptTokens: 22,
    tokens: 1,
  });
  const messages = [{ role: "user" as const, content: "1+1" }];
  expect(await answer(saved, { messages })).toMatchObject({ text: "2" });
});

test("an adapter of a published model lies on it, and goes on from its own checkpoint", async () => {
  const model = publishedModel();
  const config = tinyConfig({ model, lora: LORA, maxSteps: 6, saveSteps: 3 });
  const directory = scratchDirectory();
  const third = join(scratchDirectory(), "step-3");
  const onEvent = ({ event }: EngineEvent) => {
    const isThird = event === "checkpoint.saved" && !existsSync(third);
    // The next checkpoint takes its optimizer's state away.
    if (isThird) cpSync(join(directory, "artifacts/step-3"), third, { recursive: true });
  };
  const { events } = await run(config, { onEvent }, directory);
  expect(artifactNames(directory)).toEqual(["step-3", "step-6"]);
  const resumed = await run(config, { resumeFrom: third });
  expect(losses(resumed).at(-1)).toBe(losses({ events }).at(-1));
  const adapter = join(directory, "artifacts/step-6");
  expect(await answer(adapter, { prompt: "1+1", maxTokens: 3 })).toMatchObject({ tokens: 3 });
  // As the starting point it is merged, and saved as a base of its own with its tokenizer.
  const next = await run(tinyConfig({ model: adapter, lora: LORA, maxSteps: 3 }));
  const base = join(next.directory, "artifacts/base");
  expect(textOf(base, "tokenizer.json")).toBe(textOf(model, "tokenizer.json"));
});

test("a model without a chat template goes on with texts; so does one trained on them", async () => {
  const texts = jsonl(ROWS.map(({ prompt, completion }) => ({ text: `${prompt}=${completion}.` })));
  const dataset = { type: "jsonl" as const, path: scratchFile("train.jsonl", texts) };
  const model = publishedModel({ chat_template: undefined });
  const config = { dataset, maxSteps: 100, saveSteps: 100, batchSize: 16 };
  for (const start of [model, publishedModel()]) {
    const { directory } = await run(tinyConfig({ ...config, model: start }));
    const path = join(directory, "artifacts/step-100");
    expect(await answer(path, { prompt: "2+3=" })).toMatchObject({ text: "5." });
  }
  const { tokenizer } = openTokenizer(model, SHAPE.vocabulary);
  const learned = tokenizer
    .sequencesOf({ prompt: "ab", completion: "cd" })[0]!
    .map(({ tokens, isLearned }) => [tokenizer.show([...tokens]), isLearned]);
  expect(learned).toEqual([
    ["ab", false],
    ["cd<|im_end|>", true],
  ]);
});

const REWRITES =
  "{% for m in messages %}{{ '<|im_start|>' + m.role + (m.content if loop.last else '…') }}{% endfor %}";

test.each<[string, string | RegExp]>([
  [
    REWRITES,
    "The model's chat template doesn't begin an assistant message with its generation prompt, so Kit can't tell the answer from the prompt.",
  ],
  [
    "{{ raise_exception('no system') }}",
    "The model's chat template refuses a conversation: no system.",
  ],
  [
    "{{ messages|groupby('role') }}",
    /: The model's chat template refuses a conversation: it uses the filter "groupby", which Kit doesn't support\. Use engine: python\(\), /,
  ],
  ...["raw", "with", "do"].map((name): [string, RegExp] => [
    `{% ${name} %}`,
    new RegExp(
      `cannot be read: it uses the statement "${name}", which Kit doesn't support. Use engine: python\\(\\), `,
    ),
  ]),
  ["{% endif %}", /cannot be read: .+ Save or download it again\.$/],
  ["{% if %}", /^The chat template of \S+model cannot be read: .+ Save or download it again\.$/],
])(
  "a template that cannot be trained with fails with one clear sentence: %s",
  async (template, said) => {
    const model = publishedModel({ chat_template: template });
    await expect(run(tinyConfig({ model }))).rejects.toThrow(said);
  },
);

test("a template lies in a file of its own, or among others by its name", () => {
  const named = publishedModel({
    chat_template: [
      { name: "tool_use", template: "-" },
      { name: "default", template: "named" },
    ],
  });
  const shown = () => {
    const { tokenizer, promptStyle } = openTokenizer(named, SHAPE.vocabulary);
    return tokenizer.show(tokenizer.promptTokens({ prompt: "a" }, promptStyle));
  };
  expect(shown()).toBe("named");
  writeFileSync(join(named, "chat_template.jinja"), "{{ messages[0].content }} of a file");
  expect(shown()).toBe("a of a file");
});

test("an answer that begins is continued, as transformers continues it", () => {
  const { tokenizer } = openTokenizer(publishedModel(), SHAPE.vocabulary);
  const messages = [
    { role: "user" as const, content: "hi" },
    { role: "assistant" as const, content: "the fox " },
  ];
  expect(tokenizer.show(tokenizer.promptTokens({ messages }, "message"))).toBe(
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nthe fox ",
  );
});

test("a character that is spread over tokens is one, and dropped when it is cut off", () => {
  const { tokenizer } = openTokenizer(publishedModel(), SHAPE.vocabulary);
  const tokens = tokenizer.promptTokens({ prompt: "a👩" }, "text");
  expect(tokens.length).toBeGreaterThan(3);
  expect(tokenizer.decode(tokens)).toBe("a👩");
  expect(tokenizer.decode(tokens.slice(0, -1))).toBe("a");
});

test.each([
  ["{}", /tokenizer\.json cannot be read: .+\. Save or download it again\.$/],
  [
    '{"model":{"type":"None"}}',
    /tokenizer\.json has a model of type "None", which Kit doesn't support\. Use engine: python\(\), or another model\.$/,
  ],
  ["{", /tokenizer\.json is not valid JSON\. Save or download it again\.$/],
])("a tokenizer.json that is %s fails with one clear sentence", (text, said) => {
  const model = publishedModel();
  writeFileSync(join(model, "tokenizer.json"), text);
  expect(() => openTokenizer(model, SHAPE.vocabulary)).toThrow(said);
});

test("a token that the model has no number for is refused in a sentence, wherever it comes up", async () => {
  const added = { special: false, lstrip: false, rstrip: false };
  const model = publishedModel();
  const path = join(model, "tokenizer.json");
  const tokenizer = JSON.parse(readFileSync(path, "utf8")) as { added_tokens: object[] };
  for (let id: number = STYLE.size; id <= SHAPE.vocabulary; id++) {
    const content = id < SHAPE.vocabulary ? `<${id}>` : "<call>";
    tokenizer.added_tokens.push({ ...added, content, single_word: false, normalized: false, id });
  }
  writeFileSync(path, JSON.stringify(tokenizer));
  const rows = [{ prompt: "2+3", completion: "<call>" }];
  const dataset = { type: "jsonl", path: scratchFile("called.jsonl", jsonl(rows)) } as const;
  const said = {
    code: "CHECKPOINT_INVALID",
    message: expect.stringMatching(
      `gives the token "<call>" the id ${SHAPE.vocabulary}, but the model has ids from 0 to ${SHAPE.vocabulary - 1}\\. Use`,
    ),
  };
  await expect(run(tinyConfig({ model, dataset }))).rejects.toMatchObject(said);
  await expect(answer(model, { prompt: "a <call>" })).rejects.toMatchObject(said);
  // It does no harm where nobody uses it.
  expect(await answer(model, { prompt: "2+3", maxTokens: 1 })).toMatchObject({ tokens: 1 });
});

test("a file of a tokenizer that cannot be copied is refused before a step is trained", async () => {
  const model = publishedModel();
  execFileSync("mkfifo", [join(model, "vocab.json")]);
  await expect(run(tinyConfig({ model }))).rejects.toMatchObject({
    code: "CHECKPOINT_INVALID",
    message: expect.stringMatching(/vocab\.json is not a regular file\. Pass the directory/),
  });
});
