import { ratioAtMost } from "../goals.ts";
import { openProcesses } from "../openProcess.ts";
import type { Row } from "../row.ts";
import { median } from "../statistics.ts";

const THREADS = 2;

export const evaluation: Row = {
  number: 27,
  work: "evaluating 135M parameters on 100 rows, 30 tokens each",
  baseline: "one by one",
  async measure(scope) {
    const rows = scope.pick({ full: 100, quick: 32, tiny: 3 });
    const length = scope.pick({ full: 30, quick: 30, tiny: 4 });
    const { ours } = openProcesses(scope);
    const { ask } = ours<{ together: number; each: number }>("ask", {
      rows,
      length,
      threads: THREADS,
    });
    // Warm up.
    await ask();
    const found = [await ask()];
    while (found.length < scope.pick({ full: 3, quick: 1, tiny: 1 })) found.push(await ask());
    return [
      {
        ours: median(found.map(({ together }) => together)),
        baseline: median(found.map(({ each }) => each)),
        unit: "ms",
        goal: ratioAtMost(0.5),
      },
    ];
  },
};
