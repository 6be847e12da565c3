import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { modelfile } from "../../../engines/export/modelfile.ts";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import { findStartingPoint } from "../../../engines/training/startingPoint.ts";
import type { Engine } from "../../../protocol/engine.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { tinyConfig } from "../embedded/run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { FAMILIES, tinyWeights } from "../embedded/tiny.ts";
import {
  type WarmPython,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "../python/environment.ts";
import { STYLES, writeTokenizer } from "./styles.ts";

const STYLE = STYLES["Qwen 3"]!;
/** Each year makes a prompt longer. */
const DATED = "{{ strftime_now('%d %b %Y') }}{{ 'x\\n' * (strftime_now('%Y')|int - 1990) }}";
const TEMPLATE = DATED + STYLE.config.chat_template;
const THEN = "1998-03-07T12:34:56";
const ROW = { prompt: "ab", completion: "cd" };

/** A folder of a model whose template writes the date, with the date that it has learned, if any. */
function published(config: object = {}): string {
  const shape = { ...FAMILIES["Qwen 3"]!, vocabulary: STYLE.size, context: 160 };
  const path = join(scratchDirectory(), "model");
  saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
  writeTokenizer(path, STYLE, { chat_template: TEMPLATE, ...config });
  return path;
}

const configOf = (path: string) =>
  JSON.parse(readFileSync(join(path, "tokenizer_config.json"), "utf8")) as Record<string, unknown>;

/** What a model reads of a prompt. */
function promptOf(path: string): string {
  const { tokenizer } = openCheckpoint(path);
  return tokenizer.show(tokenizer.promptTokens({ prompt: "ab" }, "message"));
}

async function train(engine: Engine, model: string, more: object, resumeFrom?: string) {
  const path = scratchFile("rows.jsonl", jsonl([ROW]));
  const { engine: _, ...tiny } = tinyConfig({ model, dataset: { type: "jsonl", path } });
  const config = engine.prepare({ ...tiny, batchSize: 1, saveSteps: 1, ...more });
  const directory = scratchDirectory();
  const { signal } = new AbortController();
  await engine.train({ config, directory, resumeFrom, signal, onEvent: () => {} });
  return join(directory, `artifacts/step-${config.maxSteps}`);
}

async function promptTokens(engine: Engine, path: string): Promise<number> {
  const model = await engine.load(path, {});
  try {
    const { promptTokens: count } = await model.infer({ prompt: "ab", maxTokens: 1 });
    return count ?? 0;
  } finally {
    await model.close();
  }
}

let warm: WarmPython | undefined;
beforeAll(async () => {
  if (hasPython) warm = await startWarmPython();
});
afterAll(() => warm?.close());

const ENGINES: [name: string, isHere: boolean, create: () => Engine][] = [
  ["embedded", true, createEmbeddedEngine],
  ["Python", hasPython, () => createPythonEngine({ path: warm!.path, env: ENV })],
];

describe.each(ENGINES)("with the %s engine", (_, isHere, create) => {
  test.runIf(isHere)(
    "a training keeps its date, which a resumed one and answers write again",
    async () => {
      const today = published();
      const model = published({ template_date: THEN });
      const lora = { r: 2, alpha: 4, targetModules: ["q_proj"] };
      const engine = create();
      expect(configOf(await train(engine, today, { maxSteps: 1 }))["template_date"]).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/,
      );
      for (const more of [{}, { lora }]) {
        const first = await train(engine, model, { maxSteps: 1, ...more });
        expect(configOf(first)["template_date"]).toBe(THEN);
        // Its base alone would write today's.
        writeTokenizer(model, STYLE, { chat_template: TEMPLATE });
        const second = await train(engine, model, { maxSteps: 2, ...more }, first);
        expect(configOf(second)["template_date"]).toBe(THEN);
        expect(promptOf(second)).toMatch(/^07 Mar 1998(x\n){8}</);
        expect(await promptTokens(engine, second)).toBe(
          await promptTokens(engine, published({ template_date: THEN })),
        );
        expect(await promptTokens(engine, second)).toBeLessThan(await promptTokens(engine, today));
        writeTokenizer(model, STYLE, { chat_template: TEMPLATE, template_date: THEN });
      }
    },
  );
});

test("the rows of a resumed training have the date of the checkpoint", () => {
  const [model, checkpoint] = [published(), published({ template_date: THEN })];
  const source = { kind: "checkpoint", directory: model, name: model } as never;
  const { tokenizer, templateDate } = findStartingPoint(source, tinyConfig(), checkpoint);
  const [spans = []] = tokenizer.sequencesOf(ROW);
  const text = spans.map(({ tokens }) => tokenizer.show([...tokens])).join("");
  expect(text).toMatch(/^07 Mar 1998/);
  expect(templateDate).toEqual(new Date(THEN));
});

test("a date that is none, or a template that writes none, is left alone", () => {
  const year = new Date().getFullYear();
  for (const template_date of ["soon", 7, "1998-13-77T00:00:00"]) {
    expect(promptOf(published({ template_date }))).toContain(`${year}x`);
  }
  const plain = published({ chat_template: STYLE.config.chat_template, template_date: THEN });
  expect(promptOf(plain)).not.toContain("1998");
  expect(openCheckpoint(plain).tokenizer.at).toBeUndefined();
});

test("a Modelfile has a date that was learned, and says that Ollama cannot write today's", () => {
  const render = createRender(
    `{{ strftime_now('%d %b %Y') }}{% for m in messages %}[{{ m.role }}]{{ m.content }}!{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`,
    {},
    "model",
  );
  const options = { bos: "", stopTexts: ["!"] };
  const ofToday = modelfile("model.gguf", { ...options, render, usesCurrentDate: true });
  expect(ofToday.problem).toContain("Ollama's template language cannot express");
  expect(ofToday.text).not.toContain(String(new Date().getFullYear()));
  const learned = modelfile("model.gguf", {
    ...{ ...options, render: render.at?.(new Date(THEN)), usesCurrentDate: false },
  });
  expect(learned.problem).toBeUndefined();
  expect(learned.text).toContain("07 Mar 1998");
});
