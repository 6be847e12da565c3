import type { EventData } from "../../protocol/event.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";

/** Warnings about rows that are cut or left out, to train or to evaluate on. */
export function lostRows(data: EventData["training.started"]): string[] {
  const { rows, cut, leftOut, evalRows = 0, evalCut, evalLeftOut, maxLength, keepLeftOut } = data;
  const limit =
    maxLength === undefined
      ? "maxLength or the model's context"
      : formatCounted(maxLength, "token");
  const keep = keepLeftOut ? `\n  to keep them: ${keepLeftOut}` : "";
  return [
    ...warningOf({ rows, cut, leftOut }, "row", limit).map((warning) => warning + keep),
    ...warningOf({ rows: evalRows, cut: evalCut, leftOut: evalLeftOut }, "held-out row", limit),
  ];
}

interface Rows {
  /** Without those that are left out. */
  rows: number;
  cut: number | undefined;
  leftOut: number | undefined;
}

function warningOf({ rows, cut = 0, leftOut = 0 }: Rows, noun: string, limit: string): string[] {
  const of = `of ${formatCounted(rows + leftOut, noun)}`;
  if (leftOut === 0) {
    return cut === 0 ? [] : [`warning: ${formatCount(cut)} ${of} cut to ${limit}`];
  }
  const alsoCut = cut === 0 ? "" : `; ${formatCount(cut)} cut`;
  return [`warning: ${formatCount(leftOut)} ${of} left out: no answer fits ${limit}${alsoCut}`];
}
