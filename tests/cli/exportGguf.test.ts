import { readFileSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../engines/checkpoint/directory.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomAdapter } from "../../engines/lora/adapter.ts";
import { tinyWeights } from "../engines/embedded/tiny.ts";
import { createTinyProject, runKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { namesOf, sayTo, startServe } from "../serveCommand.ts";

const SHAPE = dimensionsOf({ layers: 1, heads: 2, width: 32, context: 64 });
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj" as const] };

/** A project with a model and an adapter to it. */
function createModels(): string {
  const project = createProject({ "package.json": "{}" });
  const base = join(project, "model");
  const notes = { shape: SHAPE, promptStyle: "message" as const };
  saveModel(base, tinyWeights(1, SHAPE), notes);
  const tensors = randomAdapter(LORA, SHAPE, 1);
  writeDirectory(join(project, "adapter"), adapterFiles(tensors, { ...notes, lora: LORA, base }));
  return project;
}

test("kit export --format gguf writes one file, says who takes it, and kit infer answers from it as before", async () => {
  const project = createModels();
  const words = ["export", "./model", "--format", "gguf"];
  const { code, stdout, stderr } = await runKit(project, words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(readdirSync(join(project, "model-gguf")).toSorted()).toEqual(["Modelfile", "model.gguf"]);
  expect(stdout.split("\n").slice(1)).toEqual([
    expect.stringMatching(
      /exported to model-gguf\/model\.gguf, [\d.]+ MB; try it: .* infer \.\/model-gguf\/model\.gguf$/,
    ),
    expect.stringContaining("  llama.cpp: llama-cli -m ./model-gguf/model.gguf --jinja --temp 0"),
    expect.stringContaining(
      "  Ollama: ollama create model -f ./model-gguf/Modelfile && ollama run model",
    ),
    expect.stringContaining("  LM Studio: lms import ./model-gguf/model.gguf"),
    "",
  ]);
  const ask = (model: string) => runKit(project, ["infer", model, "hello", "--max-tokens", "12"]);
  const [before, after] = [await ask("./model"), await ask("model-gguf/model.gguf")];
  expect(after).toEqual(before);
  expect(after.code).toBe(0);
});

test("a hidden folder's model is exported under a visible name, which the commands quote", async () => {
  const project = createModels();
  renameSync(join(project, "model"), join(project, ".my model"));
  const { stdout } = await runKit(project, ["export", "./.my model", "--format", "gguf"]);
  expect(stdout).toContain("exported to my model-gguf/my model.gguf, ");
  expect(stdout).toContain("ollama create my-model -f './my model-gguf/Modelfile' && ");
});

test("a model that Windows would take for a device is exported under another name there", async () => {
  const project = createModels();
  renameSync(join(project, "model"), join(project, "con"));
  const onWindows = "Object.defineProperty(process,'platform',{value:'win32'})";
  const NODE_OPTIONS = `--import=data:text/javascript,${onWindows}`;
  const { stdout } = await runKit(project, ["export", "./con"], { NODE_OPTIONS });
  expect(stdout).toContain("exported to con-model, ");
});

test("kit serve answers from a GGUF file as kit infer does", async () => {
  const project = createModels();
  await runKit(project, ["export", "./model", "to", "--format", "gguf"]);
  const serve = await startServe(project, ["to/model.gguf"]);
  expect(await namesOf(serve)).toEqual(["model.gguf"]);
  const words = ["infer", "to/model.gguf", "1", "--max-tokens", "8"];
  const { stdout } = await runKit(project, words);
  const said = await sayTo(serve, { model: "model.gguf", max_tokens: 8 });
  expect(said).toEqual({ status: 200, model: "model.gguf", text: stdout.slice(0, -1) });
});

test("a quantized file answers as --quantize does", async () => {
  const project = createModels();
  await runKit(project, ["export", "./model", "small", "--format", "gguf", "--type", "q4_0"]);
  const ask = (model: string, ...more: string[]) =>
    runKit(project, ["infer", model, "hello", "--max-tokens", "12", ...more]);
  expect(await ask("./small/model.gguf")).toEqual(await ask("./model", "--quantize", "q4_0"));
});

test("an adapter is written alone, for its base's file", async () => {
  const project = createModels();
  const words = ["export", "./adapter", "--format", "gguf", "--adapter"];
  const { code, stdout } = await runKit(project, words);
  expect(code).toBe(0);
  expect(readdirSync(join(project, "adapter-lora-gguf"))).toEqual(["adapter-lora.gguf"]);
  expect(stdout).toContain(
    "  llama.cpp: llama-cli -m <its base>.gguf --lora ./adapter-lora-gguf/adapter-lora.gguf\n",
  );
  const { code: asked, stderr } = await runKit(project, [
    ...["infer", "adapter-lora-gguf/adapter-lora.gguf", "hello"],
  ]);
  expect({ asked, stderr }).toEqual({
    asked: 1,
    stderr: expect.stringContaining("is an adapter without its base") as string,
  });
});

test("what only a GGUF file has is refused without one, and a folder that is taken", async () => {
  const project = createModels();
  const typed = await runKit(project, ["export", "./model", "to", "--type", "q8_0"]);
  expect(typed).toMatchObject({
    code: 2,
    stderr: "kit: --type is for GGUF files. Add --format gguf.\n",
  });
  const alone = await runKit(project, ["export", "./adapter", "to", "--adapter"]);
  expect(alone.stderr).toBe("kit: --adapter is for GGUF files. Add --format gguf.\n");
  const before = readFileSync(join(project, "model/config.json"), "utf8");
  const taken = await runKit(project, ["export", "./model", "model", "--format", "gguf"]);
  expect(taken).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Choose a new or empty folder.") as string,
  });
  expect(readFileSync(join(project, "model/config.json"), "utf8")).toBe(before);
});

test.each([
  ["all rows begin with the same", ["Be brief.", "Be brief."], 'SYSTEM """Be brief."""\n'],
  ["rows begin with others", ["Be brief.", "Be kind."], undefined],
  ["a row has none", ["Be brief.", undefined], undefined],
])("the Modelfile has a system message where %s", async (_, systems, line) => {
  const rows = systems.map((content) => ({
    messages: [
      ...(content === undefined ? [] : [{ role: "system", content }]),
      { role: "user", content: "1" },
      { role: "assistant", content: "2" },
    ],
  }));
  const data = rows.map((row) => JSON.stringify(row)).join("\n");
  const project = createTinyProject(undefined, { "data.jsonl": data });
  await runKit(project, ["start"]);
  await runKit(project, ["export", "latest", "to", "--format", "gguf"]);
  const file = readFileSync(join(project, "to/Modelfile"), "utf8");
  expect(/^SYSTEM .*\n/m.exec(file)?.[0]).toBe(line);
});

test("kit takes a GGUF file from where the user is, writes types in upper case, and exports no file", async () => {
  const project = createModels();
  await runKit(project, ["export", "./model", "to", "--format", "gguf", "--type", "Q4_K_M"]);
  const there = join(project, "to");
  const ask = (model: string) => [
    ...["infer", model, "1", "--max-tokens", "8"],
    ...["--project", "../adapter", "--quantize", "Q8_0"],
  ];
  expect(await runKit(there, ask("model.gguf/none"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `No job, folder or file named model.gguf/none in ${there} or ${join(project, "adapter")}.`,
    ) as string,
  });
  for (const path of ["./model.gguf", "../to/model.gguf"]) {
    expect(await runKit(there, ask(path))).toMatchObject({ code: 0, stderr: "" });
  }
  const { code, stderr } = await runKit(project, ["export", "to/model.gguf", "again"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `kit: ${join(there, "model.gguf")} is an exported file already. Pass the job or the checkpoint folder that it came from.\n`,
  });
});
