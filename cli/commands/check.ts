import { sep } from "node:path";
import { DEFAULT_ENTRY, endedTooEarly } from "../../protocol/entry.ts";
import { isKitError } from "../../protocol/error.ts";
import { formatCount, formatCounted, formatDuration } from "../../protocol/format.ts";
import { escapeCharacter, printable, printableNote } from "../../protocol/printable.ts";
import type {
  DatasetReport,
  Segment,
  RepeatedRows,
  TrainingCheck,
} from "../../protocol/trainingCheck.ts";
import { checkTraining } from "../../sdk/checkTraining.ts";
import type { TrainingTime } from "../../sdk/job/trainingTime.ts";
import { asError, sourceLocation } from "../../sdk/projectCode.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createCommand, projectOption } from "../command.ts";
import { createEventLines } from "../jobs/eventLines.ts";
import { checkPlanned, plannedOption } from "../jobs/plannedTrainer.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { onTerminationSignal } from "../process/signals.ts";
import { buildBundle } from "../project/bundle.ts";
import { exitOnUncaught } from "../project/describeError.ts";
import { enterProject } from "../project/folder.ts";
import { loadEntry } from "../project/loadEntry.ts";
import { openJsonOutput } from "../terminal/json.ts";
import { print, printError, printFailure } from "../terminal/print.ts";
import { styled } from "../terminal/style.ts";

/**
 * Prints what training with the latest edits would do, without training.
 * @throws the KitError that `train` would throw
 */
export const command = createCommand("check", {
  "kit check": "check your latest edits; trains nothing",
  "kit check && kit build && kit start": "train only what passes",
})
  .argument("[entry]", `check this file instead of ${DEFAULT_ENTRY}`)
  .option("--loss", "also score up to 200 rows with the starting model and show the hardest")
  .option("--json", "print all results as JSON and nothing else")
  .addOption(plannedOption())
  .addOption(projectOption())
  .action(async (entry, options) => {
    const printJson = options.json && openJsonOutput();
    const project = enterProject(options.project);
    if (options.planned !== undefined) {
      await checkPlanned(project, options.planned);
      process.exit(EXIT_CODE.completed);
    }
    const bundle = await buildBundle(project, entry);
    const trainer = await loadEntry(bundle, entry ?? DEFAULT_ENTRY);
    process.once("exit", explainEnd);
    exitOnUncaught(explainEnd);
    const result = await checkUntilSignal(trainer, project, options.loss ?? false);
    process.off("exit", explainEnd);
    const { config, started, learnedTokens, longestRow, memoryBytes, onGpu, dataset, time } =
      result;
    if (printJson) {
      printJson(result);
      process.exit(EXIT_CODE.completed);
    }
    const eventLines = createEventLines({ config, project, directory: "" });
    print(
      eventLines
        .text({ event: "training.started", data: started })
        .replace(/^training/, "would train"),
    );
    print(`trains on ${formatCount(learnedTokens)} tokens per epoch`);
    print(`longest row: ${formatCount(longestRow)} tokens`);
    if (dataset) for (const line of datasetLines(dataset, started, project)) print(line);
    print(
      `memory ${formatCount(Math.ceil(memoryBytes / 2 ** 20))} MiB${onGpu ? " of the GPU" : ""}`,
    );
    if (time) print(timeLine(time));
    // Not `print`, which would escape the colours. `rowLines` escapes the text itself.
    process.stdout.write(`first row\n${rowLines(result.firstRow)}\n`);
    for (const { where, loss, row } of result.hardest ?? []) {
      print(`loss ${loss.toFixed(3)} of ${relativeLocation(where, project)}`);
      process.stdout.write(`${rowLines(row)}\n`);
    }
    // The project's code may have left something open.
    process.exit(EXIT_CODE.completed);
  });

/** `time about 12m on this machine, up to 8m (66 %) of it evaluating` */
function timeLine({ seconds, evaluatingSeconds }: TrainingTime): string {
  const share = Math.round((100 * evaluatingSeconds) / seconds);
  const evaluating = `, up to ${formatDuration(evaluatingSeconds)} (${share} %) of it evaluating`;
  return `time about ${formatDuration(seconds)} on this machine${evaluatingSeconds > 0 ? evaluating : ""}`;
}

/** Fails a check if the project's code ended the process. */
function explainEnd(code: number): void {
  printFailure(`kit: ${endedTooEarly("check", code)}`);
  process.exitCode = EXIT_CODE.failed;
}

/**
 * On the first signal, ends the iteration over the project's rows and stops a remote check; a second
 * one exits at once.
 */
async function checkUntilSignal(
  trainer: DrivenTrainer,
  project: string,
  loss: boolean,
): ReturnType<typeof checkTraining> {
  const abort = new AbortController();
  const { signal } = abort;
  const exit = () => {
    process.off("exit", explainEnd);
    process.exit(EXIT_CODE.cancelled);
  };
  const listen = () => onTerminationSignal(() => (signal.aborted ? exit() : abort.abort()));
  let listener = listen();
  const { engine } = trainer[DRIVER].prepared;
  // Reading rows on this thread would block the listener; without it, a signal ends the process at once.
  const onRows = () => {
    if (!engine.remote) listener.stop();
  };
  const onTiming = () => {
    listener.stop();
    listener = listen();
    if (engine.remote) return;
    // An engine in a subprocess takes half a minute to start, so print the note even if stderr isn't a
    // terminal.
    const isSlow = engine.name !== "embedded";
    if (isSlow || process.stderr.isTTY) printError("timing two training steps …");
  };
  const onNote = (text: string) => printError(printableNote(text));
  return checkTraining(trainer, project, { onNote, onRows, onTiming, signal, loss }).catch(
    (thrown: unknown) => {
      if (signal.aborted) exit();
      process.off("exit", explainEnd);
      const error = asError(thrown);
      // An error of the project's own code.
      const location = !isKitError(error) && sourceLocation(error);
      throw location ? new Error(`${error.message}\n  at ${location}`, { cause: error }) : error;
    },
  );
}

/** A dataset report as lines; paths are relative to the project. */
function datasetLines(
  { forms, tokens, duplicates, leaked, answers, json }: DatasetReport,
  { cut = 0 }: TrainingCheck["started"],
  project: string,
): string[] {
  const locationOf = (where: string) => relativeLocation(where, project);
  const lines: string[] = [];
  if (Object.keys(forms).length > 1) {
    const counts = Object.entries(forms).map(([form, rows]) => `${formatCount(rows)} of ${form}`);
    lines.push(`formats ${counts.join(", ")}`);
  }
  const { least, median, p95, most } = tokens;
  lines.push(
    `lengths ${formatCount(least)} to ${formatCount(most)} tokens, median ${formatCount(median)}, p95 ${formatCount(p95)}`,
  );
  lines.push(
    ...repeatedLine(
      "duplicates:",
      duplicates,
      (n) => (n === 1 ? "repeats" : "repeat") + " an earlier one",
      locationOf,
    ),
  );
  if (leaked?.first) {
    lines.push(
      ...repeatedLine(
        "warning:",
        leaked,
        (n) => (n === 1 ? "is" : "are") + " in both datasets",
        locationOf,
      ),
      "  remove them from one, or evaluations measure memorization",
    );
  }
  if (answers) {
    const counts = answers.map(({ text, count }) => `${formatCount(count)} × ${printable(text)}`);
    lines.push(`answers ${counts.join(", ")}`);
  }
  if (json) {
    const { answers: all, broken, first = "" } = json;
    const outcome =
      broken === 0
        ? "all parse"
        : `${formatCount(broken)} of them ${broken === 1 ? "does" : "do"} not parse, the first at ${locationOf(first)}`;
    // Counted before truncation: a truncated answer is learned without its end.
    const note =
      cut === 0 ? "" : ` (checked in full; training truncates ${formatCounted(cut, "row")})`;
    lines.push(`json ${formatCounted(all, "answer")}: ${outcome}${note}`);
  }
  return lines;
}

function relativeLocation(where: string, project: string): string {
  return printable(where.replace(project + sep, ""));
}

function repeatedLine(
  keyword: string,
  { rows, first }: RepeatedRows,
  predicate: (rows: number) => string,
  locationOf: (where: string) => string,
): string[] {
  if (!first) return [];
  const [before, again] = first.map(locationOf);
  return [
    `${keyword} ${formatCounted(rows, "row")} ${predicate(rows)}; ${rows === 1 ? "it" : "the first"} is ${again}, a copy of ${before}`,
  ];
}

/** One line for each run of learned, rejected or context text. */
function rowLines(segments: Segment[]): string {
  const specials = segments.flatMap(({ text, isSpecial }) => (isSpecial && text ? [text] : []));
  const lines: { verb: string; text: string }[] = [];
  for (const { text, isLearned, isSpecial, isAvoided } of segments) {
    const verb = isAvoided ? "avoids" : isLearned ? "learns" : "reads ";
    if (lines.at(-1)?.verb !== verb) lines.push({ verb, text: "" });
    lines.at(-1)!.text += isSpecial
      ? styled("dim", printable(text))
      : coloured(text, isLearned, specials);
  }
  return lines.map(({ verb, text }) => `  ${verb}  ${text}`).join("\n");
}

/** @param specials special tokens; text that is spelt like one is escaped */
function coloured(text: string, isLearned: boolean, specials: readonly string[]): string {
  const escaped = specials.reduce(
    (spelt, special) =>
      spelt.replaceAll(special, () => escapeCharacter(special) + special.slice(1)),
    printable(text),
  );
  return isLearned ? styled("green", escaped) : escaped;
}
