import type { EngineSizes } from "../engine.ts";
import { ratioAtLeast } from "../goals.ts";
import { NODE_22, newerNode, nodeOf } from "../newerNode.ts";
import type { Measured, Row } from "../row.ts";
import { run } from "./engine.ts";

const FULL: EngineSizes = { model: "kit/nano", rows: 1, length: 1024, steps: 5, runs: 25 };

interface Speeds {
  nt: number;
  nn: number;
  tn: number;
  peak: number;
}

export const gemm: Row = {
  number: 20,
  work: "a product of 1024³, 1 thread",
  baseline: "multiply-adds on registers alone",
  async measure(scope) {
    const tiny = { ...FULL, length: 64, steps: 1, runs: 1 };
    const sizes = scope.pick({ full: FULL, quick: { ...FULL, runs: 1 }, tiny });
    const nodes = {
      "plain SIMD": process.execPath,
      ...(scope.size !== "tiny" && {
        "relaxed SIMD": newerNode(),
        "relaxed SIMD, Node 22": nodeOf(NODE_22),
      }),
    };
    const lines: Measured[] = [];
    for (const [what, node] of Object.entries(nodes)) {
      const { peak, ...speeds } = await run<Speeds>(scope, "gemm", sizes, node);
      const names = { nt: "A·Bᵀ", nn: "A·B", tn: "Aᵀ·B" };
      for (const kind of ["nt", "nn", "tn"] as const) {
        const part = `${names[kind]}, ${what}`;
        lines.push({
          part,
          ours: speeds[kind],
          baseline: peak,
          unit: "GFLOP/s",
          goal: ratioAtLeast(0.8),
        });
      }
    }
    return lines;
  },
};
