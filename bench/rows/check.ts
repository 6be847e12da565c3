import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ratioAtMost } from "../goals.ts";
import { program } from "../places.ts";
import type { Row } from "../row.ts";

/** Characters of a question, and so tokens of Kit's own models; with its answer a row has 200. */
const QUESTION_LENGTH = 180;

export const check: Row = {
  number: 24,
  work: "`kit check` looks at 100,000 rows of 200 tokens",
  baseline: "reading and tokenizing them",
  async measure(scope) {
    const count = scope.pick({ full: 100_000, quick: 20_000, tiny: 20 });
    const rows = Array.from({ length: count }, (_, n) => ({
      prompt: `Question ${n}`.padEnd(QUESTION_LENGTH, " of many words"),
      completion: `answer ${n % 1000}`.padEnd(16, "."),
    }));
    const path = join(scope.folder(), "rows.jsonl");
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join("\n"));
    const runs = scope.pick({ full: 7, quick: 3, tiny: 1 });
    const child = scope.start(process.execPath, [program("inspect"), path, `${runs}`]);
    let printed = "";
    child.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`The process ended with ${code}.`);
    const figures = JSON.parse(printed) as { ours: number; baseline: number };
    return [{ ...figures, unit: "ms", goal: ratioAtMost(1.5) }];
  },
};
