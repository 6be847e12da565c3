import { once } from "node:events";
import { text } from "node:stream/consumers";
import { atMost } from "../goals.ts";
import { program } from "../places.ts";
import type { DrawTimes } from "../programs/draw.ts";
import type { Measured, Row } from "../row.ts";

/** Vocabularies of SmolLM2 and of Qwen2, and the most that drawing may add to a token, in ms. */
const VOCABULARIES: [number, number][] = [
  [49_152, 0.3],
  [151_936, 1],
];
const TINY: typeof VOCABULARIES = [[512, 0.3]];

export const draw: Row = {
  number: 26,
  work: "drawing a token, topP 0.9, what it adds",
  baseline: "a token of the same model, greedy",
  async measure(scope) {
    const tokens = scope.pick({ full: 200, quick: 50, tiny: 4 });
    const lines: Measured[] = [];
    const vocabularies = scope.size === "tiny" ? TINY : VOCABULARIES;
    for (const [vocabulary, most] of vocabularies) {
      const args = [program("draw"), scope.folder(), `${vocabulary}`, `${tokens}`];
      const child = scope.start(process.execPath, args);
      const [printed] = await Promise.all([text(child.stdout!), once(child, "close")]);
      const { greedy, peaked, flat } = JSON.parse(printed) as DrawTimes;
      const name = `of ${vocabulary.toLocaleString("en")}`;
      const line = { baseline: greedy, unit: "ms" } as const;
      lines.push(
        { ...line, part: name, ours: peaked - greedy, goal: atMost(most) },
        { ...line, part: `${name}, nearly equally likely`, ours: flat - greedy },
      );
    }
    return lines;
  },
};
