import { expect, test } from "vitest";
import { jsonl } from "../engines/embedded/scratch.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

const ROWS = Array.from({ length: 20 }, (_, n) => ({ prompt: `${n}`, completion: `${n % 2}` }));

test("kit start prints what asking the model has shown, and nothing else", async () => {
  const options =
    "evalSplit: 0.9, evaluate: { metrics: { accuracy: ({ output, expected }: { output: string; expected: string }) => output === expected } },";
  const project = createTinyProject(tinySource({ options }), { "data.jsonl": jsonl(ROWS) });
  const { code, stdout, stderr } = await runKit(project, ["start"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.split("\n");
  expect(lines).toContain("asking the model for 18 held-out rows before it is trained");
  expect(lines.filter((line) => line.startsWith("evaluated"))).toEqual([
    expect.stringMatching(/^evaluated step 0: accuracy [\d.]+$/),
    expect.stringMatching(/^evaluated step 2: accuracy [\d.]+ \(before [\d.]+\)$/),
    expect.stringMatching(/^evaluated step 4: accuracy [\d.]+ \(before [\d.]+\)$/),
  ]);
});

test("a metric that throws ends the job with its place", async () => {
  const options =
    'evalSplit: 0.5, evaluate: { metrics: { judge: () => { throw new Error("no judge"); } } },';
  const project = createTinyProject(tinySource({ options }), { "data.jsonl": jsonl(ROWS) });
  const { code, stderr } = await runKit(project, ["start"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^failed: The metric judge failed on row 1, "\d+": no judge \(src\/kit\/index\.ts:\d+:\d+\)$/m,
  );
});
