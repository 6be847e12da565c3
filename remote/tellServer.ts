import { printableLines } from "../protocol/printable.ts";
import type { FollowerMessage } from "./followerMessage.ts";

/**
 * Reports the job's state to the `kit ui` that started this process, over a separate channel,
 * since the project's code prints what it likes. Does nothing in a process of a terminal.
 */
export function tellServer({ text, ...message }: FollowerMessage): void {
  // The kit ui may have ended meanwhile.
  if (process.connected)
    process.send?.({ ...message, text: printableLines(text) }, () => undefined);
}
