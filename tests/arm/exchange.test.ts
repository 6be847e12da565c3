import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobEvent } from "../../protocol/event.ts";
import { difference } from "../engines/embedded/kernels/team.ts";
import { CLI, createTinyProject, tinySource } from "../kit.ts";
import { run } from "../packed.ts";
import { ARM_NODES } from "./projects.ts";

const STEPS = 60;
/** Enough to learn the rows. The matrices' rows are whole blocks of a quantized type. */
const SOURCE = tinySource({ options: "learningRate: 0.01" })
  .replace(/model: .*/, "model: { layers: 1, heads: 2, width: 64, context: 32 },")
  .replace("maxSteps: 4", `maxSteps: ${STEPS}`)
  .replace("batchSize: 2", "batchSize: 8");

/** Relaxed SIMD rounds differently there. */
const LOSS_LIMIT = 1e-3;

/** Of each Node. */
const learned: number[][] = [];

test.each(ARM_NODES.map((node, i) => ({ ...node, threads: 1 + 2 * i })))(
  "Node $major on arm64 and on x64 learn alike, export the same bytes and answer from each other's models",
  async ({ program, threads }) => {
    const [here, there] = [createTinyProject(SOURCE), createTinyProject(SOURCE)];
    const x64 = (...words: string[]) => run(here, [process.execPath, CLI, ...words]);
    const env = { KIT_THREADS: String(threads) };
    const arm64 = (...words: string[]) => run(here, [program, CLI, ...words], env);

    const expected = lossesOf(await x64("start", "--json"));
    const losses = lossesOf(await arm64("start", "--json", "--project", there));
    expect(losses).toHaveLength(STEPS);
    expect(difference(losses, expected)).toBeLessThan(LOSS_LIMIT);
    learned.push(losses);

    const files: Buffer[] = [];
    for (const [kit, to] of [
      [x64, "by-x64"],
      [arm64, "by-arm64"],
    ] as const) {
      await kit("export", "latest", to, "--format", "gguf", "--type", "q4_0");
      files.push(readFileSync(join(here, to, "tiny.gguf")));
    }
    expect(files[1]).toEqual(files[0]);

    expect(await arm64("infer", "by-x64/tiny.gguf", "3")).toBe("3\n");
    expect(await arm64("infer", "latest", "4", "--quantize", "q8_0")).toBe("4\n");
    expect(await x64("infer", "latest", "5", "--project", there)).toBe("5\n");
  },
);

test("each Node learns the same to the bit, on any number of threads", () => {
  for (const losses of learned) expect(losses).toEqual(learned[0]);
});

function lossesOf(events: string): number[] {
  const all = events
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JobEvent);
  return all.flatMap((one) => (one.event === "training.log" ? [Number(one.data.loss)] : []));
}
