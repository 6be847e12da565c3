import { once } from "node:events";
import { text } from "node:stream/consumers";
import { atMost } from "../goals.ts";
import { program } from "../places.ts";
import type { DrawTimes } from "../programs/draw.ts";
import type { Measured, Row } from "../row.ts";

/** Vocabularies of SmolLM2 and of Qwen2, and the most that a draw may take, in ms. */
const VOCABULARIES: [number, number][] = [
  [49_152, 0.3],
  [151_936, 1],
];

export const draw: Row = {
  number: 26,
  work: "drawing a token, temperature 1, topP 0.9",
  baseline: "choosing the likeliest",
  async measure(scope) {
    const draws = scope.pick({ full: 300, quick: 50, tiny: 2 });
    const lines: Measured[] = [];
    for (const [vocabulary, most] of VOCABULARIES) {
      const child = scope.start(process.execPath, [program("draw"), `${vocabulary}`, `${draws}`]);
      const [printed] = await Promise.all([text(child.stdout!), once(child, "close")]);
      const { greedy, peaked, flat } = JSON.parse(printed) as DrawTimes;
      const name = vocabulary.toLocaleString("en");
      const line = { baseline: greedy, unit: "ms" } as const;
      lines.push(
        { ...line, part: `of ${name}`, ours: peaked, goal: atMost(most) },
        { ...line, part: `of ${name}, nearly equally likely`, ours: flat },
      );
    }
    return lines;
  },
};
