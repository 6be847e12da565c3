import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { sidecarFiles } from "../../../engines/checkpoint/sidecarFiles.ts";
import type * as module from "../../../engines/embedded/infer/modelCache.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { builtModule } from "../embedded/built.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";
import { STYLES, writeTokenizer } from "../tokens/styles.ts";

const STYLE = STYLES["SmolLM"]!;
const SHAPE = { ...TINY, vocabulary: STYLE.size };
const REQUEST = { prompt: "Hi" };
/** Ends a turn with the pair of what begins it, and speaks of an assistant that is called bot. */
const TEMPLATE =
  "{% for m in messages %}{{ m.role + ':' + m.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ 'bot:' }}{% endif %}";

/** A base without a chat template, and an adapter that Kit trained on it. */
function saved() {
  const directory = scratchDirectory();
  const [base, adapter] = [join(directory, "base"), join(directory, "adapter")];
  saveModel(base, tinyWeights(1, SHAPE), { shape: SHAPE, promptStyle: "text" });
  writeTokenizer(base, STYLE, { chat_template: undefined });
  const lora = { r: 2, alpha: 4, targetModules: ["q_proj"] };
  const notes = { shape: SHAPE, promptStyle: "text" as const, origin: base };
  const tensors = randomAdapter(lora, SHAPE, 1);
  writeDirectory(adapter, adapterFiles(tensors, { ...notes, lora, base }));
  return { directory, base, adapter };
}

/** As TRL, Axolotl and Unsloth leave it, which save the tokenizer beside the adapter. */
function withTemplate(adapter: string): void {
  writeTokenizer(adapter, STYLE, { chat_template: undefined, eos_token: "<|im_end|>" });
  writeFileSync(join(adapter, "chat_template.jinja"), TEMPLATE);
}

test("an adapter with a tokenizer of its own answers by its chat template, as its export does", async () => {
  const { adapter, base, directory } = saved();
  withTemplate(adapter);
  const { tokenizer, promptStyle, ...from } = openCheckpoint(adapter);
  expect(promptStyle).toBe("message");
  const asked = tokenizer.promptTokens(REQUEST, promptStyle);
  expect(tokenizer.show(asked)).toBe("user:Hi<|im_end|>bot:");
  expect(openCheckpoint(base).promptStyle).toBe("text");

  const exported = join(directory, "exported");
  await exportModel(adapter, exported);
  const whole = openCheckpoint(exported);
  expect(whole.tokenizer.promptTokens(REQUEST, whole.promptStyle)).toEqual(asked);
  expect(tokenizer.stopTokens).toEqual(whole.tokenizer.stopTokens);

  // What is trained from there on keeps it.
  const files = sidecarFiles({ ...from, shape: SHAPE, promptStyle });
  expect(String(files["chat_template.jinja"])).toBe(TEMPLATE);
});

test("an adapter with a tokenizer of its own shares no weights with its base; one that Kit saved does", async () => {
  const { createModelCache } = await builtModule<typeof module>("infer/modelCache.js");
  const { adapter, base } = saved();
  const { load } = createModelCache();
  const kept = load({ directory: base });
  const before = load({ directory: adapter });
  expect(before.base).toBe(kept.base);
  await before.close();
  withTemplate(adapter);
  const after = load({ directory: adapter });
  expect(after.base).not.toBe(kept.base);
  const shown = (one: typeof after) =>
    one.tokenizer.show(one.tokenizer.promptTokens(REQUEST, one.promptStyle));
  expect([kept, after].map(shown)).toEqual(["Hi", "user:Hi<|im_end|>bot:"]);
  await Promise.all([after.close(), kept.close()]);
});

test("an adapter without a tokenizer of its own, or with a damaged one, has its base's, or is refused", () => {
  const { adapter, base } = saved();
  const asked = () => openCheckpoint(adapter).tokenizer.promptTokens(REQUEST, "text");
  const expected = openCheckpoint(base).tokenizer.promptTokens(REQUEST, "text");
  rmSync(join(adapter, "tokenizer.json"));
  // As an adapter that was saved without its tokenizer has it.
  writeFileSync(join(adapter, "chat_template.jinja"), TEMPLATE);
  expect(asked()).toEqual(expected);
  copyFileSync(join(base, "tokenizer.json"), join(adapter, "tokenizer.json"));
  const text = readFileSync(join(adapter, "tokenizer.json"), "utf8");
  writeFileSync(join(adapter, "tokenizer.json"), text.slice(0, 99));
  expect(asked).toThrow(`${join(adapter, "tokenizer.json")} is not valid JSON`);
});

const TOOL = {
  type: "function" as const,
  function: { name: "f", parameters: { type: "object", properties: {} } },
};

test("a template for tools in a folder of its own goes along into checkpoints and exports", async () => {
  const { base, adapter, directory } = saved();
  writeFileSync(join(base, "chat_template.jinja"), TEMPLATE);
  mkdirSync(join(base, "additional_chat_templates"));
  writeFileSync(
    join(base, "additional_chat_templates/tool_use.jinja"),
    `{{ tools[0].function.name }};${TEMPLATE}`,
  );
  const ask = (path: string) => {
    const { tokenizer } = openCheckpoint(path);
    const messages = [{ role: "user" as const, content: "Hi" }];
    return [{ messages }, { messages, tools: [TOOL] }].map((request) =>
      tokenizer.show(tokenizer.promptTokens(request, "message")),
    );
  };
  const expected = ["user:Hi<|im_end|>bot:", "f;user:Hi<|im_end|>bot:"];
  expect(ask(base)).toEqual(expected);
  const files = sidecarFiles({ shape: SHAPE, promptStyle: "message", origin: base });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(adapter, name), content);
  for (const format of ["safetensors", "gguf"] as const) {
    for (const model of [base, adapter]) {
      const { path } = await exportModel(model, join(directory, `${format} ${basename(model)}`), {
        format,
      });
      expect([path, ...ask(path)]).toEqual([path, ...expected]);
    }
  }
  // As in transformers, a file takes the place of the config's templates, that for tools among them.
  const whole = join(directory, "safetensors base");
  writeFileSync(join(whole, "chat_template.jinja"), TEMPLATE);
  expect(() => ask(whole)).toThrow("The model's chat template doesn't support tools");
});
