import { type LossEnds, AGAINST_RISE, risenFrom } from "../../protocol/lossEnds.ts";
import { formatNumber } from "./facts.ts";

/** What to try after a training whose loss ended above where it began; empty for any other. Pure. */
export function adviceOn(losses: LossEnds): string {
  const first = risenFrom(losses);
  const last = losses.last.at(-1);
  if (first === undefined || last === undefined) return "";
  const [began, ended] = [first, last].map(formatNumber);
  const advice = AGAINST_RISE.replace(/^t/, "T");
  return `The loss ended at ${ended}, above the ${began} where it began. ${advice}.`;
}
