import { InvalidArgumentError } from "commander";
import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Answered } from "../../protocol/metric.ts";
import { printableNote } from "../../protocol/printable.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { askRows } from "../../sdk/metrics/ask.ts";
import { type Comparison, compareAnswers } from "../../sdk/metrics/compare.ts";
import { createCommand, examples, parseCount, projectOption } from "../command.ts";
import { comparisonLines, figure } from "../eval/comparisonLines.ts";
import {
  type EvaluatedModel,
  BASE,
  baseOf,
  configOf,
  findEvaluated,
} from "../eval/evaluatedModel.ts";
import { openAnswers } from "../eval/keptAnswers.ts";
import { projectMetrics } from "../eval/projectMetrics.ts";
import { evaluatedRows } from "../eval/rows.ts";
import { EXIT_CODE } from "../exitCode.ts";
import { print, printError } from "../print.ts";
import { enterProject } from "../project.ts";

/** Rows that are asked, unless the user says how many. */
const ROWS_ASKED = 100;

/**
 * Scores a model's answers, and compares them with another's.
 * @throws KitError `JOB_NOT_FOUND`, `PROMPT_INVALID`, `DATASET_INVALID`, `METRIC_FAILED`
 */
export const command = createCommand("eval")
  .argument("<model>", 'a job id or its prefix, "latest", "base", a checkpoint folder, or org/name')
  .option("--against <model>", "the model to compare with (default: what the job began with)")
  .option("--data <file>", "rows to ask (default: those that the job held out)")
  .option(
    "--metric <name...>",
    "the trainer's metrics, or exactMatch, validJson, jsonFields, labels",
  )
  .option("--min <name=figure>", "exit with 1 below this; may be repeated", parseMinimum)
  .option("--rows <n>", `rows at most, chosen by the seed (default: ${ROWS_ASKED})`, parseCount)
  .option("--json", "print all that was found as JSON, and nothing else")
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit eval latest": "compare the newest model with what it began as",
      "kit eval latest --against 20261124": "compare two jobs' models",
      "kit eval latest --min accuracy=0.9": "fail a CI job below 90 % right",
    }),
  )
  .action(async (named, { project: folder, against, data, metric = [], min, rows, json }) => {
    const project = enterProject(folder);
    const onNote = (text: string) => printError(printableNote(text));
    const model = findEvaluated(project, named, onNote);
    const other = otherOf(model, against);
    const metrics = await projectMetrics(project, metric);
    const config = model.job?.config ?? configOf("kit/nano");
    const asked = await evaluatedRows({
      ...{ project, job: model.job, defaults: () => config, data, onNote },
      most: rows ?? config.evaluate?.rows ?? ROWS_ASKED,
    });
    const answersOf = (one: EvaluatedModel) => ask(project, one, asked.rows, config);
    const before = other && (await answersOf(other));
    const after = await answersOf(model);
    const found = await compareAnswers(metrics, after, before, config.seed);
    const missed = missedOf(found, min ?? {});
    if (json) {
      const names = { model: model.name, ...(other && { against: other.name }) };
      print(JSON.stringify({ ...names, rows: after.length, ...found, missed }, undefined, 2));
    } else {
      const beside = other ? ` and of ${other.name}` : "";
      const some = asked.rows.length < asked.of ? ` of ${formatCount(asked.of)}` : "";
      print(
        `answers of ${model.name}${beside} to ${formatCount(after.length)}${some} held-out rows`,
      );
      print(comparisonLines(found).join("\n"));
      for (const line of missed) printError(`missed: ${line}`);
    }
    // The project's code may have left something open.
    process.exit(missed.length > 0 ? EXIT_CODE.failed : EXIT_CODE.completed);

    function otherOf(
      { job }: EvaluatedModel,
      name: string | undefined,
    ): EvaluatedModel | undefined {
      if (name === BASE || (name === undefined && job && named !== BASE)) {
        return baseOf(job, onNote);
      }
      return name === undefined ? undefined : findEvaluated(project, name, onNote);
    }
  });

/** Asks what was not asked before. */
function ask(
  project: string,
  model: EvaluatedModel,
  rows: Parameters<typeof askRows>[1],
  { evaluate, seed }: JobConfig,
): Promise<Answered[]> {
  const { maxTokens, temperature } = evaluate ?? {};
  return model.open(async (load, identity) => {
    const kept = openAnswers(project, identity);
    const progress = createProgress(model.name, rows.length);
    const infer = async (request: InferRequest) => (await load()).infer(request);
    const { signal } = new AbortController();
    const answers = await askRows({ infer }, rows, {
      ...{ maxTokens, temperature, seed, signal, kept },
      onAnswer: progress.show,
    });
    progress.end();
    return answers;
  });
}

/** How far the asking is, where a person sees it. */
function createProgress(name: string, all: number) {
  if (!process.stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const clear = "\r\u001b[K";
  return {
    show: (count: number) =>
      void process.stderr.write(
        `${clear}asking ${printableNote(name)}: ${formatCount(count)} of ${formatCount(all)}`,
      ),
    end: () => void process.stderr.write(clear),
  };
}

function parseMinimum(text: string, before: Record<string, number> = {}): Record<string, number> {
  const [, name = "", value = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === "" || !/^-?\d*\.?\d+$/.test(value)) {
    throw new InvalidArgumentError("It must be a metric and a figure, such as accuracy=0.9.");
  }
  return { ...before, [name]: Number(value) };
}

/** @throws KitError `PROMPT_INVALID` for a metric that there is not */
function missedOf({ figures }: Comparison, min: Record<string, number>): string[] {
  return Object.entries(min).flatMap(([name, least]) => {
    const found = figures.find((one) => one.name === name);
    if (!found) {
      throw new KitError(
        "PROMPT_INVALID",
        `--min names ${name}, which was not measured. Use one of ${figures.map((one) => one.name).join(", ")}.`,
      );
    }
    if (found.value >= least) return [];
    return [`${name} is ${figure(found.value)}, below ${figure(least)}`];
  });
}
