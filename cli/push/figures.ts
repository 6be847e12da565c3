import type { PastMetricEvent } from "../../jobs/metricEvents.ts";
import { heldOutValues } from "../../protocol/evaluation.ts";
import type { StepValue } from "../../protocol/history.ts";
import { numbersIn } from "../../protocol/isRecord.ts";

/** The name of the logged loss: a metric of `evaluate` may be a `loss` too. */
export const TRAINING_LOSS = "training loss";

/** A metric's first value, and its last one up to a checkpoint. */
export interface Figure {
  name: string;
  first: StepValue;
  now: StepValue;
}

/** What a job measured up to a checkpoint's step. Step 0 is the model before training. */
export function figuresUpTo(curve: Iterable<PastMetricEvent>, lastStep: number): Figure[] {
  const figures = new Map<string, Figure>();
  for (const { event, data } of curve) {
    if (data.step > lastStep) continue;
    const values =
      event === "training.log"
        ? { ...numbersIn({ [TRAINING_LOSS]: data.loss }), ...heldOutValues(data) }
        : data.metrics;
    for (const [name, value] of Object.entries(values)) {
      const now = { step: data.step, value };
      // A metric of `evaluate` may have any name.
      const key = `${event} ${name}`;
      figures.set(key, { name, first: figures.get(key)?.first ?? now, now });
    }
  }
  return [...figures.values()];
}
