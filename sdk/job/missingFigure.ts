import { heldOutFigure, isLogged } from "../../protocol/evaluation.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";

/** Says once that the held-out rows have no figure of the job's metric, so that no checkpoint is the best. */
export function createMissingFigure(
  { metricForBestModel: name, objective }: Pick<JobConfig, "metricForBestModel" | "objective">,
  onNote: (text: string) => void,
): (event: JobEvent) => void {
  let isTold = !isLogged(name, objective);
  return ({ event, data }) => {
    if (isTold || event !== "training.log" || data.evalLoss === undefined) return;
    if (heldOutFigure(data, name) !== undefined) return;
    isTold = true;
    onNote(
      `warning: the held-out rows have no "${name}", which compares answers judged good with answers judged bad. Hold out both kinds, or choose another metricForBestModel`,
    );
  };
}
