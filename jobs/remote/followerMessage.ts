import type { ErrorCode } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { printableLines } from "../../protocol/printable.ts";

/** A `kit attach` subprocess's report over IPC to the `kit ui` that started it. */
export interface FollowerMessage {
  /** `refused`: it cannot follow the job. */
  kind: "attached" | "ended" | "warning" | "refused";
  /** Text for people; details may follow on further lines. */
  text: string;
  /** The error's code, for `refused`. */
  code?: ErrorCode | undefined;
}

const KINDS: unknown[] = ["attached", "ended", "warning", "refused"];

/** The project's own code may send other messages over the same channel. */
export function isFollowerMessage(value: unknown): value is FollowerMessage {
  return isRecord(value) && KINDS.includes(value.kind) && typeof value.text === "string";
}

/**
 * Reports the job's state to the `kit ui` that started this process, over IPC, because the project's code
 * may print anything. Does nothing when started from a terminal.
 */
export function reportToUi({ text, ...message }: FollowerMessage): void {
  // kit ui may have ended meanwhile.
  if (process.connected)
    process.send?.({ ...message, text: printableLines(text) }, () => undefined);
}
