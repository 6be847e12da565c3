import { endedTooEarly } from "../../protocol/entry.ts";
import { formatCount } from "../../protocol/format.ts";
import { printableNote } from "../../protocol/printable.ts";
import { lowerIsBetter } from "../../sdk/job/checkpointScore.ts";
import { compareAnswers } from "../../sdk/metrics/compare.ts";
import { configOf } from "../../sdk/models/open.ts";
import { type ModelReference, BASE, baseOf, findReference } from "../../sdk/models/reference.ts";
import { createCommand, parseCount, projectOption } from "../command.ts";
import { type MetricValues, missedBounds, parseBound, assertKnown } from "../eval/bounds.ts";
import { answersOfBoth, collectAnswers } from "../eval/collectAnswers.ts";
import { comparisonLines } from "../eval/comparisonLines.ts";
import { projectMetrics } from "../eval/projectMetrics.ts";
import { evaluatedRows, newRowFile } from "../eval/rows.ts";
import { EXIT_CODE, lastExitCode } from "../process/exitCode.ts";
import { abortOnSignal, exitCancelled } from "../process/signals.ts";
import { exitOnUncaught } from "../project/describeError.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { openJsonOutput } from "../terminal/json.ts";
import { print, printError, printFailure } from "../terminal/print.ts";

const DEFAULT_ROWS = 100;

interface Options {
  project: string;
  against?: string;
  data?: string;
  metric?: string[];
  min?: MetricValues;
  max?: MetricValues;
  rows?: number;
  wrong?: string;
  json?: true;
}

/**
 * Scores a model's answers, and compares them with another model's.
 * @throws KitError `JOB_NOT_FOUND`, `USAGE_INVALID`, `DATASET_INVALID`, `METRIC_FAILED`
 */
export const command = createCommand("eval", {
  "kit eval latest": "compare the newest model with its base",
  "kit eval latest --against 20261124": "compare two jobs' models",
  "kit eval latest --min accuracy=0.9": "fail a CI job below 90 % accuracy",
  "kit eval latest --wrong wrong.jsonl": "write the rows it still gets wrong",
})
  .argument("<model>", 'a job id or its prefix, "latest", "base", a checkpoint folder, or org/name')
  .option("--against <model>", "the model to compare with (default: the job's base)")
  .option("--data <file>", "rows to evaluate on (default: the job's held-out rows)")
  .option(
    "--metric <name...>",
    "the trainer's metrics, or exactMatch, validJson, jsonFields, labels",
  )
  .option("--min <name=value>", "exit with 1 below this; may be repeated", parseBound)
  .option("--max <name=value>", "exit with 1 above this; may be repeated", parseBound)
  .option(
    "--rows <n>",
    `maximum rows, sampled with the seed (default: the job's, or ${DEFAULT_ROWS})`,
    parseCount,
  )
  .option("--wrong <file>", "write the wrong rows to a new file, to correct and train on")
  .option("--json", "print all results as JSON and nothing else")
  .addOption(projectOption())
  .action(async (modelName, options) => {
    const signal = abortOnSignal();
    // If the project's code ends the process, a CI job must not pass.
    const explainEnd = (code: number) => {
      if (signal.aborted) return;
      printFailure(`kit: ${endedTooEarly("evaluation", code)}`);
      process.exitCode = EXIT_CODE.failed;
    };
    // The project's code may also fail in the background.
    exitOnUncaught(explainEnd);
    try {
      const onLoaded = () => process.once("exit", explainEnd);
      const isMissed = await evaluate(modelName, options, { signal, onLoaded });
      process.off("exit", explainEnd);
      // The project's code may have left something open.
      process.exit(lastExitCode(isMissed ? EXIT_CODE.failed : EXIT_CODE.completed));
    } catch (error) {
      process.off("exit", explainEnd);
      if (!signal.aborted) throw error;
      printError("Interrupted. Run the same command again to continue.");
      exitCancelled();
    }
  });

/**
 * @param onLoaded called once the project's code is loaded; loading explains its own early exits
 * @returns whether a metric is out of its bounds
 */
async function evaluate(
  modelName: string,
  options: Options,
  { signal, onLoaded }: { signal: AbortSignal; onLoaded: () => void },
): Promise<boolean> {
  const { against, metric = [], min = {}, max = {}, wrong, json } = options;
  const printJson = json && openJsonOutput();
  const wrongFile = wrong === undefined ? undefined : newRowFile(wrong);
  const directory = enterProject(options.project);
  const onNote = (text: string) => printError(printableNote(text));
  const project = modelProject(directory, onNote);
  const model = findReference(project, modelName);
  const otherModel = modelToCompare(model, against);
  const job = model.job ?? otherModel?.job;
  const config = job?.config ?? configOf({ name: "kit/nano", job: undefined });
  const metrics = await projectMetrics(directory, metric, onNote);
  onLoaded();
  assertKnown({ min, max }, metrics);
  const { rows, total, skipped, ...limits } = await evaluatedRows({
    job,
    config,
    data: options.data,
    onNote,
    maxRows: options.rows ?? config.evaluate?.rows ?? DEFAULT_ROWS,
  });
  const collectOptions = { project, rows, ...limits, config, signal };
  const otherAnswers = otherModel && (await collectAnswers(otherModel, collectOptions));
  const ownAnswers = await collectAnswers(model, collectOptions);
  const [after, before] = otherAnswers ? answersOfBoth(ownAnswers, otherAnswers) : [ownAnswers];
  const comparison = await compareAnswers(metrics, {
    after,
    before,
    lowerIsBetter: lowerIsBetter(config),
    seed: config.seed,
    signal,
    onNote,
  });
  const missed = missedBounds(comparison, { min, max });
  wrongFile?.write(comparison.wrong);
  if (printJson) {
    const names = { model: model.name, ...(otherModel && { against: otherModel.name }) };
    const counts = { rows: after.length, of: total, unasked: skipped };
    // Without the rows themselves, which repeat the texts.
    const wrong = comparison.wrong.map(({ row: _, ...texts }) => texts);
    printJson({ ...names, ...counts, ...comparison, wrong, missed });
  } else {
    const against = otherModel ? ` against ${otherModel.name}` : "";
    const ofN = after.length < total ? ` of ${formatCount(total)}` : "";
    print(`evaluated ${model.name}${against} on ${formatCount(after.length)}${ofN} held-out rows`);
    if (skipped > 0) print(`${formatCount(skipped)} more have no text answer to compare with`);
    print(comparisonLines(comparison).join("\n"));
    if (wrongFile) print(wrongFile.note(comparison.wrong));
    for (const line of missed) printFailure(`missed: ${line}`);
  }
  return missed.length > 0;

  function modelToCompare(own: ModelReference, name: string | undefined) {
    if (name === BASE || (name === undefined && own.job && modelName !== BASE)) return baseOf(own);
    return name === undefined ? undefined : findReference(project, name);
  }
}
