import { readFileSync, writeFileSync } from "node:fs";
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

const WARNING =
  /^warning: the answers of 8 of 8 rows have no token that ends them, so the model may not learn to stop$/m;

test("an end that generation_config.json or config.json names is learned, whatever tokenizer_config.json says", async () => {
  const model = { specials: QWEN, template: undefined, tokenizer: { eos_token: null } };
  for (const [config, generation] of [
    [{ eos_token_id: TEXT_END }, { eos_token_id: TEXT_END }],
    [{}, { eos_token_id: [TEXT_END, TURN_END] }],
    [{ eos_token_id: TEXT_END }, undefined],
    [{ eos_token_id: TEXT_END }, {}],
  ]) {
    const project = createColours({ ...model, config: config!, generation });
    const { stdout, stderr } = await runKit(project, ["check"]);
    expect(stdout).toContain("learns  red<|endoftext|>\n");
    expect(stderr).not.toMatch(WARNING);
  }
});

test("an answer that is learned without an end is warned of, with what to do", async () => {
  const known = { tokenizer: ENDS_A_TEXT, config: { eos_token_id: TEXT_END } };
  const turns = {
    specials: ["<|endoftext|>"],
    template:
      "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}",
  };
  const { stderr } = await runKit(createColours({ ...turns, ...known }), ["check"]);
  expect(stderr).toMatch(WARNING);
  expect(stderr).toMatch(/^ {2}the first is \S+data\.jsonl:1, which ends with "red\\n"$/m);
  expect(stderr).toContain(
    "  let the model's chat template write <|endoftext|> after an assistant's message\n",
  );
  const nowhere = await runKit(createColours(turns), ["check"]);
  expect(nowhere.stderr).toMatch(WARNING);
  expect(nowhere.stderr).toContain(
    "  set eos_token to the token that ends an answer in the model's tokenizer_config.json\n",
  );
  // A row that is cut loses its end, which another line says.
  const project = createColours({ specials: QWEN, template: CHATML, ...known });
  writeFileSync(join(project, "src/kit/index.ts"), source("maxLength: 28,"));
  const cut = await runKit(project, ["check"]);
  expect(cut).toMatchObject({ code: 0, stderr: "" });
  expect(cut.stdout).toMatch(/^ {2}learns {2}re$/m);
});
