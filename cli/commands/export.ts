import { statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { canStore } from "../../disk/windowsName.ts";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readJobFile } from "../../jobs/jobFile.ts";
import { KitError } from "../../protocol/error.ts";
import { type ExportFormatName, EXPORT_FORMATS, GGUF_TYPES } from "../../protocol/exportFormat.ts";
import { formatCount } from "../../protocol/format.ts";
import { printableNote } from "../../protocol/printable.ts";
import { exportModel, sharedSystem } from "../../sdk/engine.ts";
import { type Fetcher, downloadArtifact, findArtifact } from "../../sdk/models/artifact.ts";
import { engineOf } from "../../sdk/models/open.ts";
import { type SavedModel, findSaved } from "../../sdk/models/reference.ts";
import { Option, createCommand, projectOption, typeChoices } from "../command.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { onTerminationSignal } from "../process/signals.ts";
import { showPath } from "../project/bundle.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
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
  .addOption(
    typeChoices(
      new Option("--type <type>", "type of a gguf file (default: the model's own)").choices(
        GGUF_TYPES,
      ),
    ),
  )
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
    const { directory } = model;
    const checkpoint = findArtifact(directory);
    assertFolder(checkpoint);
    const name = nameOf(directory) + (adapter ? "-lora" : "");
    const target = resolve(folder ?? (format === "gguf" ? `${name}-gguf` : name));
    let engine: Fetcher | undefined;
    const abort = new AbortController();
    const { signal } = abort;
    const signalListener = onTerminationSignal(() => abort.abort());
    try {
      if (isRemoteArtifact(checkpoint)) {
        engine = (await engineOf(models, model)) ?? {};
        await downloadArtifact(engine, { directory: checkpoint, signal, onNote });
      }
      print(`exporting ${showPath(project, checkpoint)}`);
      const { path, bytes } = await exportModel(checkpoint, target, {
        format,
        name,
        signal,
        onNote,
        ...(format === "gguf" && { system: await systemOf(model) }),
        ...(type && { type }),
        ...(adapter && { adapterOnly: true }),
      });
      const size = `exported to ${showPath(project, path)}, ${formatCount(bytes / 1e6)} MB`;
      const trial = models.kit(`infer ${inferArgument(path)}`);
      print(adapter ? size : `${size}; try it: ${trial}`);
      if (printJson) printJson({ path, bytes, format });
      if (format === "gguf") for (const line of usageLines(path, name, adapter)) print(line);
    } catch (error) {
      if (!signal.aborted) throw error;
      process.exitCode = EXIT_CODE.cancelled;
    } finally {
      signalListener.stop();
    }
    // The project's code, if it ran, may have left something open.
    if (engine) process.exit();
  });

/** @throws KitError `USAGE_INVALID` for a file */
function assertFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new KitError(
    "USAGE_INVALID",
    `${path} is an exported file already. Pass the job or the checkpoint folder that it came from.`,
  );
}

/** @throws KitError `USAGE_INVALID` for a GGUF option with another format */
function assertGguf(format: ExportFormatName, ggufOptions: Record<string, unknown>): void {
  const [name] = Object.entries(ggufOptions).find(([, value]) => value !== undefined) ?? [];
  if (format === "gguf" || name === undefined) return;
  throw new KitError("USAGE_INVALID", `--${name} is for GGUF files. Add --format gguf.`);
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

/** The system message of a job's rows, for the Modelfile. */
async function systemOf({ job }: SavedModel): Promise<string | undefined> {
  try {
    return job && (await sharedSystem(job.config, job.directory));
  } catch {
    // The rows were deleted, or never were on this machine.
    return undefined;
  }
}

/** The job's name, made safe for a folder; else the checkpoint folder's name, never hidden. */
function nameOf(directory: string): string {
  const name = readJobFile(directory).file?.name ?? "";
  const allowed = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replaceAll(/^[.-]+|[.-]+$/g, "");
  const found = allowed || basename(directory).replace(/^\.+/, "") || "model";
  return canStore(found) ? found : `${found}-model`;
}

/** A path that `kit infer` treats as a folder, not as a job id. */
function inferArgument(target: string): string {
  const path = pathFrom(process.cwd(), target);
  return shellWord(isAbsolute(path) ? path : `./${path}`);
}
