import type { DatasetRow } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Answered } from "../../protocol/metric.ts";
import { printableNote } from "../../protocol/printable.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { askRows } from "../../sdk/metrics/ask.ts";
import type { EvaluatedModel } from "./evaluatedModel.ts";
import { openAnswers } from "./keptAnswers.ts";

interface Asking {
  project: string;
  rows: readonly DatasetRow[];
  config: JobConfig;
  signal: AbortSignal;
  onNote: (text: string) => void;
}

/** Asks a model for what it was not asked before; loads it only then. */
export function askModel(
  model: EvaluatedModel,
  { project, rows, config, signal, onNote }: Asking,
): Promise<Answered[]> {
  const { maxTokens, temperature } = config.evaluate ?? {};
  return model.open(signal, async (load, identity) => {
    const kept = openAnswers(project, identity, onNote);
    const progress = createProgress(model.name, rows.length);
    const infer = async (request: InferRequest) => (await load()).infer(request);
    try {
      return await askRows({ infer }, rows, {
        ...{ maxTokens, temperature, seed: config.seed, signal, kept },
        onAnswer: progress.show,
        onNote: (text) => onNote(`warning: ${model.name}: ${text}`),
      });
    } finally {
      progress.end();
    }
  });
}

/** The answers of both models to the rows that both have answered. @throws KitError `REQUEST_INVALID` */
export function answersOfBoth(
  one: readonly Answered[],
  other: readonly Answered[],
): [Answered[], Answered[]] {
  const [a, b] = [one, other].map((answers) => new Set(answers.map(({ row }) => row)));
  const both = [one.filter(({ row }) => b!.has(row)), other.filter(({ row }) => a!.has(row))];
  if (both[0]!.length > 0) return both as [Answered[], Answered[]];
  throw new KitError(
    "REQUEST_INVALID",
    "No row can be asked of both models. Name others by --data.",
  );
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
