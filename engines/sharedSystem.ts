import type { TrainConfig } from "../protocol/trainConfig.ts";
import { answeredRows } from "./answerTokens.ts";
import type { Row } from "./dataset/row.ts";

/** The system message that all rows of a job begin with; undefined without one. */
export function sharedSystem(config: TrainConfig): string | undefined {
  let shared: string | undefined;
  for (const row of answeredRows(config, config.dataset.path)) {
    const [first] = "messages" in row ? (row as Extract<Row, { messages: unknown }>).messages : [];
    if (first?.role !== "system" || first.content !== (shared ??= first.content)) return undefined;
  }
  return shared;
}
