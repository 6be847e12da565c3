import { basename, dirname, resolve } from "node:path";
import { summarizeJob } from "../../jobs/jobSummary.ts";
import { readCurve } from "../../jobs/metricEvents.ts";
import { createJobStore } from "../../jobs/store.ts";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import { KitError } from "../../protocol/error.ts";
import { EXPORT_FORMATS } from "../../protocol/exportFormat.ts";
import { formatCount } from "../../protocol/format.ts";
import { isFinal } from "../../protocol/job.ts";
import { printableNote } from "../../protocol/printable.ts";
import { type JobConfig, isPretrained } from "../../protocol/trainConfig.ts";
import { VERSION } from "../../protocol/version.ts";
import { pushModel, sharedSystem } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { LATEST, findSaved } from "../../sdk/models/reference.ts";
import { Option, assertGguf, createCommand, ggufTypeOption, projectOption } from "../command.ts";
import { showPath } from "../project/bundle.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { savedName, useCheckpoint } from "../project/savedCheckpoint.ts";
import { figuresUpTo } from "../push/figures.ts";
import { type CardFacts, checkpointName, modelCard } from "../push/modelCard.ts";
import { startedFrom } from "../push/startedFrom.ts";
import { openJsonOutput } from "../terminal/json.ts";
import { print } from "../terminal/print.ts";

/**
 * Pushes a job's model to the hub, with a card, in one commit.
 * @throws KitError `JOB_NOT_FOUND`, `USAGE_INVALID`, `CHECKPOINT_INVALID`, `HUB_REFUSED`,
 * `HUB_UNREACHABLE`, `HUB_INVALID`, `CONFIG_INVALID`, and those of `kit export`
 */
export const command = createCommand("push", {
  "kit push ada/tickets": "the newest job's adapter or model, private",
  "kit push ada/tickets --format safetensors": "an adapter merged into its base",
  "kit push ada/tickets-gguf --format gguf --type q8_0": "for llama.cpp, Ollama and LM Studio",
})
  .argument("<org/name>", "a repository of the hub; created if missing")
  .argument("[model]", "a job id or its prefix, or a job's checkpoint folder", LATEST)
  .addOption(
    new Option("--format <name>", "as kit export writes it (default: as the job saved it)").choices(
      EXPORT_FORMATS,
    ),
  )
  .addOption(ggufTypeOption())
  .option("--private", "push to a private repository, created if missing; the default")
  .addOption(
    new Option("--public", "create a public repository, or push to one").conflicts("private"),
  )
  .option("--json", "print the address, commit and files as JSON, and nothing else")
  .addOption(projectOption())
  .action(async (repo, modelWord, { format, type, json, project: folder, ...options }) => {
    const printJson = json && openJsonOutput();
    assertGguf(format, { type });
    const project = enterProject(folder);
    const onNote = (text: string) => print(printableNote(text));
    const models = modelProject(project, onNote);
    const model = findSaved(models, modelWord);
    const checkpoint = findArtifact(model.directory);
    const { job, step, figures } = describe(checkpoint);
    if (model.job && !isFinal(job.status)) {
      throw new KitError(
        "USAGE_INVALID",
        `Job ${job.id} is ${job.status}. Wait for its end, or name one of its checkpoints: ${models.kit(`push ${repo} ${showPath(project, checkpoint)}`)}`,
      );
    }
    const config = job.options as unknown as JobConfig;
    const directory = dirname(dirname(checkpoint));
    await useCheckpoint({ models, model, checkpoint, done: "pushed" }, async (signal) => {
      const system = await sharedSystem(config, directory);
      const base = startedFrom(config.model, project);
      if (isPretrained(config.model) && base === undefined) {
        onNote("warning: the model's base is not on the hub, and the card names no licence");
      }
      print(`pushing ${showPath(project, checkpoint)} to ${repo}`);
      const pushed = await pushModel(checkpoint, {
        repo,
        format,
        type,
        name: savedName(directory),
        isPrivate: options.public !== true,
        title: `${job.name}, step ${step} of job ${job.id}, by Kit ${VERSION}`,
        checkpoint: checkpointName({ job, step }),
        startedFrom: base,
        dataset: config.dataset.type === "hub" ? config.dataset.name : undefined,
        card: (described) =>
          modelCard({ repo, job, config, step, figures, model: described, system }),
        signal,
        onNote,
      });
      const { url, files, removed, bytes, commit, isPrivate } = pushed;
      const visibility = isPrivate ? "private" : "public";
      const size = `${files.length} files, ${formatCount(bytes / 1e6)} MB`;
      if (removed.length > 0) print(`removed files of another model: ${removed.join(", ")}`);
      print(
        files.length + removed.length > 0
          ? `pushed to ${url} (${visibility}): ${size}`
          : `nothing to push: ${url} has these files already`,
      );
      if (printJson) printJson({ url, private: isPrivate, commit, files, removed, bytes });
    });
  });

/** @throws KitError `USAGE_INVALID` for a checkpoint without a job */
function describe(checkpoint: string): Pick<CardFacts, "job" | "step" | "figures"> {
  const directory = dirname(dirname(checkpoint));
  const root = dirname(directory);
  const project = resolve(root, "../..");
  const job = createJobStore(project).get(basename(directory))?.job;
  const step = stepOfEntry(basename(checkpoint));
  if (job && step !== undefined) {
    const figures = figuresUpTo(readCurve(root, job.id), step);
    return { job: summarizeJob(project, job), step, figures };
  }
  throw new KitError(
    "USAGE_INVALID",
    `${checkpoint} is not a job's checkpoint, from which Kit could write a model card. Name a job.`,
  );
}
