import type { ErrorCode } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { printableLines } from "../../protocol/printable.ts";

/** What a `kit attach` subprocess reports over IPC to the `kit ui` that started it. */
export interface FollowerMessage {
  /** `refused`: it cannot follow the job. */
  kind: "attached" | "ended" | "warning" | "refused";
  /** For people; details may be on further lines. */
  text: string;
  /** Of the error for which it is refused. */
  code?: ErrorCode | undefined;
}

const KINDS: unknown[] = ["attached", "ended", "warning", "refused"];

/** The project's own code may send other messages over the same channel. */
export function isFollowerMessage(value: unknown): value is FollowerMessage {
  return isRecord(value) && KINDS.includes(value.kind) && typeof value.text === "string";
}

/**
 * Reports the job's state to the `kit ui` that started this process, over a separate channel,
 * since the project's code prints what it likes. Does nothing in a process of a terminal.
 */
export function tellServer({ text, ...message }: FollowerMessage): void {
  // The kit ui may have ended meanwhile.
  if (process.connected)
    process.send?.({ ...message, text: printableLines(text) }, () => undefined);
}
