import { createHash } from "node:crypto";
import type { Message } from "../../../protocol/chat.ts";
import { FRAGMENTS } from "./styles.ts";

const BLOCK = 100;

/** The texts that `tokens.py` makes. */
export function createSource(seed: number) {
  let state = seed;
  function below(count: number): number {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % count;
  }
  function text(): string {
    const count = 1 + below(14);
    return Array.from({ length: count }, () => FRAGMENTS[below(FRAGMENTS.length)]).join("");
  }
  function conversation(): Message[] {
    const messages: Message[] = [];
    if (below(3) === 0) messages.push({ role: "system", content: text() });
    for (let turns = 1 + below(3); turns > 0; turns--) {
      messages.push({ role: "user", content: text() });
      messages.push({ role: "assistant", content: text() });
    }
    return messages;
  }
  return { text, conversation };
}

/** A digest of each 100 values. */
export function blocksOf<T>(count: number, make: () => T): string[] {
  return Array.from({ length: count }, () => {
    const values = Array.from({ length: BLOCK }, make);
    return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 16);
  });
}
