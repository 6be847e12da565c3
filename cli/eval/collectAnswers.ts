import { openAnswerCache } from "../../jobs/answerCache.ts";
import { KitError } from "../../protocol/error.ts";
import type { Answered, HeldOutRows } from "../../protocol/metric.ts";
import { printableNote } from "../../protocol/printable.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { createAnswerProgress } from "../../sdk/metrics/answerProgress.ts";
import { answerRows } from "../../sdk/metrics/answerRows.ts";
import { useModel } from "../../sdk/models/open.ts";
import type { ModelProject, ModelReference } from "../../sdk/models/reference.ts";

/** Time between two progress notes without a terminal. */
const NOTE_MS = 10_000;

interface CollectOptions extends Pick<HeldOutRows, "rows" | "endOf"> {
  project: ModelProject;
  /** Limit of an answer if the config has none. */
  maxTokens: number;
  config: JobConfig;
  signal: AbortSignal;
}

/** Collects a model's answers. Loads the model only for those that are not cached. */
export function collectAnswers(
  model: ModelReference,
  { project, rows, endOf, config, signal, ...defaults }: CollectOptions,
): Promise<Answered[]> {
  const { maxTokens = defaults.maxTokens, temperature } = config.evaluate ?? {};
  const { onNote } = project;
  return useModel(project, model, signal, async (loaded, identity) => {
    const cache = openAnswerCache(project.directory, identity, (text) =>
      onNote(`warning: ${text}`),
    );
    const progress = createProgress(model.name, rows.length, onNote);
    try {
      return await answerRows(loaded, rows, {
        maxTokens,
        temperature,
        seed: config.seed,
        endOf,
        signal,
        cache,
        onAnswer: progress.show,
        onNote: (text) => onNote(`warning: ${model.name}: ${text}`),
      });
    } finally {
      progress.end();
    }
  });
}

/** The answers of both models to the rows that both have answered. @throws KitError `DATASET_INVALID` */
export function answersOfBoth(
  a: readonly Answered[],
  b: readonly Answered[],
): [Answered[], Answered[]] {
  const [rowsOfA, rowsOfB] = [a, b].map((answers) => new Set(answers.map(({ row }) => row)));
  const common = a.filter(({ row }) => rowsOfB!.has(row));
  if (common.length > 0) return [common, b.filter(({ row }) => rowsOfA!.has(row))];
  throw new KitError("DATASET_INVALID", "No row fits both models. Pass other rows with --data.");
}

/** Shows progress: live on a terminal, otherwise as a note now and then. */
function createProgress(name: string, rows: number, onNote: (text: string) => void) {
  const progress = createAnswerProgress(rows);
  const text = () => `evaluating ${printableNote(name)}: ${progress.text()}`;
  if (process.stderr.isTTY) {
    const clear = "\r\u001b[K";
    return {
      show(count: number, known: number) {
        progress.show(count, known);
        process.stderr.write(clear + text());
      },
      end: () => void process.stderr.write(clear),
    };
  }
  const timer = setInterval(() => {
    if (progress.text() !== "") onNote(text());
  }, NOTE_MS).unref();
  return { show: progress.show, end: () => clearInterval(timer) };
}
