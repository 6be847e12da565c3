import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { EXPORT_FORMATS } from "../../protocol/exportFormat.ts";
import { formatCount } from "../../protocol/format.ts";
import { printableNote } from "../../protocol/printable.ts";
import { exportModel, sharedSystem } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { findSaved } from "../../sdk/models/reference.ts";
import { Option, assertGguf, createCommand, ggufTypeOption, projectOption } from "../command.ts";
import { showPath } from "../project/bundle.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { savedName, useCheckpoint } from "../project/savedCheckpoint.ts";
import { openJsonOutput } from "../terminal/json.ts";
import { print } from "../terminal/print.ts";
import { pathFrom, shellWord } from "../terminal/shell.ts";

/**
 * Writes a job's model as a standalone folder; merges an adapter into its base. Exports the checkpoint
 * that `kit infer` would load.
 * @throws KitError `JOB_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_UNWRITABLE`, `CANNOT_WRITE`,
 * `CONFIG_INVALID`, `USAGE_INVALID`
 */
export const command = createCommand("export", {
  "kit export latest": "merge the newest job's adapter into its base",
  "kit export latest ../models/tickets": "write it elsewhere",
  "kit export latest --format gguf --type q8_0": "for llama.cpp, Ollama and LM Studio",
})
  .argument("<model>", 'a job id or its prefix, "latest", or a checkpoint folder')
  .argument("[dir]", "an empty or new folder; default: the job's name")
  .addOption(
    new Option("--format <name>", "safetensors, or gguf for llama.cpp, Ollama and LM Studio")
      .choices(EXPORT_FORMATS)
      .default("safetensors" as const),
  )
  .addOption(ggufTypeOption())
  .option("--json", "print the path and size as JSON, and nothing else")
  .option("--adapter", "write only the adapter, for llama.cpp's --lora")
  .addOption(projectOption())
  .action(async (modelName, folder, { format, type, adapter, json, ...options }) => {
    const printJson = json && openJsonOutput();
    assertGguf(format, { type, adapter });
    const project = enterProject(options.project);
    const onNote = (text: string) => print(printableNote(text));
    const models = modelProject(project, onNote);
    const model = findSaved(models, modelName);
    const checkpoint = findArtifact(model.directory);
    assertFolder(checkpoint);
    const name = savedName(model.directory) + (adapter ? "-lora" : "");
    const target = resolve(folder ?? (format === "gguf" ? `${name}-gguf` : name));
    const { job } = model;
    await useCheckpoint({ models, model, checkpoint, done: "exported" }, async (signal) => {
      print(`exporting ${showPath(project, checkpoint)}`);
      const { path, bytes } = await exportModel(checkpoint, target, {
        format,
        name,
        signal,
        onNote,
        ...(format === "gguf" && job && { system: await sharedSystem(job.config, job.directory) }),
        ...(type && { type }),
        ...(adapter && { adapterOnly: true }),
      });
      const size = `exported to ${showPath(project, path)}, ${formatCount(bytes / 1e6)} MB`;
      const trial = models.kit(`infer ${inferArgument(path)}`);
      print(adapter ? size : `${size}; try it: ${trial}`);
      if (printJson) printJson({ path, bytes, format });
      if (format === "gguf") for (const line of usageLines(path, name, adapter)) print(line);
    });
  });

/** @throws KitError `USAGE_INVALID` for a file */
function assertFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new KitError(
    "USAGE_INVALID",
    `${path} is an exported file already. Pass the job or the checkpoint folder that it came from.`,
  );
}

/** How other tools load a GGUF file, one line each. */
function usageLines(file: string, name: string, isAdapter = false): string[] {
  const path = inferArgument(file);
  if (isAdapter) return [`  llama.cpp: llama-cli -m <its base>.gguf --lora ${path}`];
  const model = name.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, "-");
  const modelfile = inferArgument(join(dirname(file), "Modelfile"));
  return [
    `  llama.cpp: llama-cli -m ${path} --jinja --temp 0`,
    `  Ollama: ollama create ${model} -f ${modelfile} && ollama run ${model}`,
    `  LM Studio: lms import ${path}`,
  ];
}

/** A path that `kit infer` treats as a folder, not as a job id. */
function inferArgument(target: string): string {
  const path = pathFrom(process.cwd(), target);
  return shellWord(isAbsolute(path) ? path : `./${path}`);
}
