import type { ErrorCode } from "../protocol/errorCode.ts";
import { isRecord } from "../protocol/isRecord.ts";

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
