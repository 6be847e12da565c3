import { printableLines } from "../protocol/printable.ts";
import type { FollowerMessage } from "./followerMessage.ts";

/**
 * Tells the `kit ui` that follows a job by this process how the job stands, over a channel of its own,
 * since the project's code prints what it likes. Does nothing in a process of a terminal.
 */
export function tellServer({ text, ...message }: FollowerMessage): void {
  // The kit ui may have ended meanwhile.
  if (process.connected)
    process.send?.({ ...message, text: printableLines(text) }, () => undefined);
}
