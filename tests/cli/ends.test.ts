import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHATML, saveBaseModel } from "../baseModel.ts";
import { jsonl } from "../engines/embedded/scratch.ts";
import { createTinyProject, runKit } from "../kit.ts";

const COLOURS = ["red", "green", "blue", "black", "white", "pink", "gold", "grey"];
const ROWS = COLOURS.map((colour) => ({ prompt: `Say ${colour}`, completion: colour }));
/** As Qwen's base models have it: one ends a text, another a turn of the template's. */
const QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const [TEXT_END, , TURN_END] = [256, 257, 258];
const ENDS_A_TEXT = { eos_token: "<|endoftext|>" };

function source(options = ""): string {
  return `import { createKit, createTrainer } from "kit";
export default createKit({
  trainer: createTrainer({
    name: "colours",
    model: "./model",
    dataset: { type: "jsonl", path: "data.jsonl" },
    maxSteps: 60,
    batchSize: 8,
    learningRate: 0.02,
    saveSteps: 60,
    ${options}
  }),
});
`;
}

/** A project with a model and rows that it learns. */
function createColours(model: Parameters<typeof saveBaseModel>[1], rows: object[] = ROWS): string {
  const project = createTinyProject(source(), { "data.jsonl": jsonl(rows) });
  saveBaseModel(join(project, "model"), model);
  return project;
}

const readJson = (...path: string[]): unknown => JSON.parse(readFileSync(join(...path), "utf8"));

test("a base model learns what ends its template's turn, stops there, and so does what is exported of it", async () => {
  const project = createColours({
    ...{ specials: QWEN, template: CHATML, tokenizer: ENDS_A_TEXT },
    ...{ config: { eos_token_id: TEXT_END }, generation: { eos_token_id: TEXT_END } },
  });
  const checked = await runKit(project, ["check"]);
  expect(checked).toMatchObject({ code: 0, stderr: "" });
  expect(checked.stdout).toContain("learns  red<|im_end|>\n");
  expect((await runKit(project, ["start"])).code).toBe(0);
  expect(await runKit(project, ["infer", "latest", "Say blue"])).toMatchObject({
    stdout: "blue\n",
    stderr: expect.not.stringContaining("limit"),
  });
  const exported = await runKit(project, ["export", "latest", "whole"]);
  expect(exported).toMatchObject({ code: 0 });
  expect(readJson(project, "whole/generation_config.json")).toEqual({
    eos_token_id: [TEXT_END, TURN_END],
  });
  await runKit(project, ["export", "latest", "file", "--format", "gguf"]);
  expect(readFileSync(join(project, "file/Modelfile"), "utf8")).toContain(
    'PARAMETER stop "<|endoftext|>"\nPARAMETER stop "<|im_end|>"\n',
  );
});
