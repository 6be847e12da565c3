import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { damagedFile } from "../../../disk/checksums.ts";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import { startHub } from "../../hub/server.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { FAMILIES, tinyWeights } from "../embedded/tiny.ts";
import { STYLES, writeTokenizer } from "../tokens/styles.ts";
import {
  type WarmPython,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const STYLE = STYLES["Qwen 3"]!;
/** With room for tokens that are added. */
const SIZES = { vocabulary: STYLE.size + 4, context: 96 };
const ROWS = [{ prompt: "hello there", completion: "general 1234" }];

let warm: WarmPython;

describe.runIf(hasPython)("with Python", () => {
  beforeAll(async () => void (warm = await startWarmPython()));
  afterAll(() => warm.close());

  const engine = () => createPythonEngine({ path: warm.path, env: ENV });

  /** A folder of a model, as others publish it. */
  function published(family = "Qwen 3"): string {
    const shape = { ...FAMILIES[family]!, ...SIZES };
    const path = join(scratchDirectory(), "model");
    saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
    writeTokenizer(path, STYLE);
    return path;
  }

  async function train(model: string, maxSteps: number, resumeFrom?: string, rows = ROWS) {
    const path = scratchFile("rows.jsonl", jsonl(rows));
    const dataset = { type: "jsonl", path } as const;
    const config = engine().prepare({ model, dataset, maxSteps, saveSteps: 1, batchSize: 1 });
    const directory = scratchDirectory();
    const events: EngineEvent[] = [];
    const { signal } = new AbortController();
    const onEvent = (event: EngineEvent) => void events.push(event);
    await engine().train({ config, directory, resumeFrom, signal, onEvent });
    return { events, saved: join(directory, `artifacts/step-${maxSteps}`) };
  }

  async function answer(path: string, prompt = "hello there") {
    const model = await engine().load(path);
    try {
      return await model.infer({ prompt, maxTokens: 2 });
    } finally {
      await model.close();
    }
  }

  const change = (path: string, more: object) => {
    const config = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...config, ...more }));
  };

  it("reads the tokens that tokenizer.json says, whatever the model's type is", async () => {
    const model = published("Qwen 2");
    const each = { type: "Split", pattern: { Regex: "." }, behavior: "Isolated", invert: false };
    const bytes = {
      type: "ByteLevel",
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: false,
    };
    const pre_tokenizer = { type: "Sequence", pretokenizers: [each, bytes] };
    change(join(model, "tokenizer.json"), { pre_tokenizer });
    const { tokenizer } = openTokenizer(model, SIZES.vocabulary);
    const row = { text: "hello there, hello there" };
    const tokens = tokenizer
      .sequencesOf(row)
      .flat()
      .reduce((sum, span) => sum + span.tokens.length, 0);
    const path = scratchFile("rows.jsonl", jsonl([row]));
    const dataset = { type: "jsonl", path } as const;
    const config = engine().prepare({ model, dataset, maxSteps: 1, batchSize: 1 });
    const found = await engine().check({ config });
    expect(found.longestRow).toBe(tokens);
  });

  it.each([
    { split_special_tokens: true },
    { extra_special_tokens: ["hello"] },
    { added_tokens_decoder: { 420: { content: "there", special: false } } },
  ])("reads the tokens that tokenizer.json says, whatever its config adds: %j", async (added) => {
    const model = published("Qwen 2");
    change(join(model, "tokenizer_config.json"), added);
    const row = { prompt: "hello there", completion: "hello there" };
    const { tokenizer } = openTokenizer(model, SIZES.vocabulary);
    const tokens = tokenizer
      .sequencesOf(row)
      .flat()
      .reduce((sum, span) => sum + span.tokens.length, 0);
    const path = scratchFile("rows.jsonl", jsonl([row]));
    const dataset = { type: "jsonl", path } as const;
    const config = engine().prepare({ model, dataset, maxSteps: 1, batchSize: 1 });
    expect((await engine().check({ config })).longestRow).toBe(tokens);
  });

  it("a model of the hub that needs code of its own is refused before its weights come", async () => {
    const path = published();
    const auto_map = { AutoConfig: "configuration_x.X", AutoModelForCausalLM: "modeling_x.X" };
    change(join(path, "config.json"), { auto_map, model_type: "kit_unknown" });
    const names = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];
    const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(path, name))]));
    const hub = await startHub({ "org/model": { files } });
    vi.stubEnv("HF_ENDPOINT", hub.endpoint);
    vi.stubEnv("HF_HOME", scratchDirectory());
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await hub.close();
    });
    await expect(train("org/model", 1)).rejects.toMatchObject({
      code: "MODEL_INVALID",
      message: expect.stringMatching(
        /\/snapshots\/\w+ needs custom code \(auto_map in its config\.json\), which Kit never runs\. /,
      ) as unknown,
    });
    expect(hub.requests.filter((request) => request.path.includes("safetensors"))).toEqual([]);
  });

  it("ends a chat template that takes too long, in a row and in a prompt", async () => {
    const model = published();
    const within = (body: string) => `{% for i in range(10000) %}${body}{% endfor %}`;
    writeFileSync(join(model, "chat_template.jinja"), within(within("{{ messages }}")));
    const refused = {
      code: "DATASET_INVALID",
      message: expect.stringMatching(
        /^The model's chat template refuses a conversation: it takes more than 3 s\. Change its messages, or use a model with another template\.$/,
      ) as unknown,
    };
    await Promise.all([
      expect(train(model, 1)).rejects.toThrow(
        /rows\.jsonl:1: The model's chat template refuses a conversation: it takes more than 3 s\./,
      ),
      expect(answer(model)).rejects.toMatchObject(refused),
    ]);
  });

  it.each([
    ["{% set x = 7**(10**9) %}", "is too large"],
    ["{% set x = 'a' * 3000000000 %}", "it takes more than 1,024 MiB of memory"],
    [
      `{% set n = namespace(x="a") %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}`,
      "it takes more than 1,024 MiB of memory",
    ],
  ])("ends a chat template that takes too much: %s", async (template, why) => {
    const model = published();
    writeFileSync(join(model, "chat_template.jinja"), template);
    await expect(train(model, 1)).rejects.toMatchObject({
      code: "DATASET_INVALID",
      message: expect.stringContaining(why) as unknown,
    });
  });

  it("ends a tokenizer's pattern that tries every way to split a text", async () => {
    const model = published();
    const Regex = "^(([a-z0-9 ])+.)+[A-Z]([a-z0-9 ])+$";
    const split = { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false };
    change(join(model, "tokenizer.json"), { pre_tokenizer: split });
    const refused = {
      code: "CHECKPOINT_INVALID",
      message: expect.stringContaining(
        `The tokenizer at ${join(model, "tokenizer.json")} takes too long for a text of `,
      ) as unknown,
    };
    const prompt = "a".repeat(60);
    await expect(train(model, 1, undefined, [{ prompt, completion: "b" }])).rejects.toMatchObject(
      refused,
    );
    await expect(answer(model, prompt)).rejects.toMatchObject(refused);
  });

  it("refuses a tokenizer whose replacements take all memory, before it reads a text", async () => {
    const model = published();
    const doubling = { type: "Replace", pattern: { String: "e" }, content: "ee" };
    const normalizers = Array.from({ length: 40 }, () => doubling);
    change(join(model, "tokenizer.json"), { normalizer: { type: "Sequence", normalizers } });
    const refused = {
      code: "CHECKPOINT_INVALID",
      message: `${join(model, "tokenizer.json")} has replacements that could make a text more than 256 times longer. Use another model.`,
    };
    await expect(train(model, 1)).rejects.toMatchObject(refused);
    await expect(answer(model)).rejects.toMatchObject(refused);
  });

  it.each(["trainer_state.json", "optimizer.pt"])(
    "a pipe in the place of a resumed checkpoint's %s keeps nobody waiting",
    async (name) => {
      const model = published();
      const { saved } = await train(model, 1);
      rmSync(join(saved, name));
      execFileSync("mkfifo", [join(saved, name)]);
      await expect(train(model, 2, saved)).rejects.toMatchObject({
        code: "RESUME_INVALID",
        message: `${join(saved, name)} is not a regular file. Pass the directory of a model or a checkpoint.`,
      });
    },
  );

  it("notes how each file of a checkpoint is, so that damage shows", async () => {
    const { saved } = await train(published(), 1);
    expect(damagedFile(saved)).toBeUndefined();
    for (const name of ["optimizer.pt", "model.safetensors", "trainer_state.json"]) {
      const file = join(saved, name);
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.with(bytes.length - 20, bytes.at(-20)! ^ 1));
      expect(damagedFile(saved)).toBe(file);
      writeFileSync(file, bytes);
    }
  });

  it.each([3e30, NaN])("refuses to answer with numbers that are not finite: %s", async (weight) => {
    const shape = { ...FAMILIES["Qwen 3"]!, ...SIZES };
    const model = published();
    const weights = tinyWeights(1, shape);
    for (const { data } of Object.values(weights)) data.fill(weight);
    saveModel(model, weights, { shape, promptStyle: "message" });
    writeTokenizer(model, STYLE);
    await expect(answer(model)).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: expect.stringMatching(
        /^The model's logits are not finite: its weights are too large\. Use an earlier/,
      ) as string,
    });
  });

  it("generates as it is asked to, whatever generation_config.json says besides its end", async () => {
    const model = published();
    const before = await answer(model);
    const path = join(model, "generation_config.json");
    if (!existsSync(path)) writeFileSync(path, "{}");
    for (const more of [
      { penalty_alpha: 0.6, top_k: 4 },
      { num_beams: 20_000 },
      { repetition_penalty: 9, min_new_tokens: 2 },
    ]) {
      change(path, more);
      expect(await answer(model)).toEqual(before);
    }
  });

  it("refuses more layers than any model has, before it makes them", async () => {
    const model = published();
    change(join(model, "config.json"), { num_hidden_layers: 100_000_000 });
    await expect(answer(model)).rejects.toMatchObject({
      message: `${model} needs at most 10,000 as num_hidden_layers, not 100,000,000. Use a smaller model.`,
    });
  });

  it("reads no weights outside of a model's folder", async () => {
    const model = published();
    renameSync(join(model, "model.safetensors"), join(model, "..", "w.safetensors"));
    const index = join(model, "model.safetensors.index.json");
    writeFileSync(index, JSON.stringify({ weight_map: { "lm_head.weight": "../w.safetensors" } }));
    const message = `${index} names no weights. Save or download it again.`;
    await expect(train(model, 1)).rejects.toMatchObject({ code: "CHECKPOINT_INVALID", message });
    await expect(answer(model)).rejects.toMatchObject({ code: "CHECKPOINT_INVALID", message });
    rmSync(index);
    const named = join(model, "other.index.json");
    writeFileSync(named, JSON.stringify({ weight_map: { "lm_head.weight": "../w.safetensors" } }));
    const config = readFileSync(join(model, "config.json"));
    change(join(model, "config.json"), { transformers_weights: "other.index.json" });
    for (const read of [() => train(model, 1), () => answer(model)]) {
      await expect(read()).rejects.toMatchObject({
        code: "CHECKPOINT_INVALID",
        message: `${model} renames its weight files (transformers_weights in its config.json). Use a model with model.safetensors.`,
      });
    }
    writeFileSync(join(model, "config.json"), config);
    const pickled = join(model, "pytorch_model.bin.index.json");
    writeFileSync(pickled, JSON.stringify({ weight_map: { "lm_head.weight": "../w.bin" } }));
    await expect(train(model, 1)).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: `${pickled} names no weights. Save or download it again.`,
    });
  });
});
