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
  expect(lines).toContain("evaluating the starting model on 18 held-out rows");
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

/** Of the model before the training, of step 10 and, in the job that goes on, of step 60. */
test.each<[string, number, number, string]>([
  ["true", 0.46, 0.3, "best len 0.46 at step 10; saved in DIR/step-10"],
  ["false", 0.08, 0.3, "best len 0 at step 0; saved in DIR/step-10 (len 0.08)"],
])(
  "a resumed job's last line counts what the job before has asked (greaterIsBetter: %s)",
  async (greaterIsBetter, ten, sixty, last) => {
    const source = tinySource({
      before: `import { existsSync } from "node:fs";
const figures = process.env.FIGURES!.split(",").map(Number);
let asked = 0;
const onCheckpoint = async ({ job, step }: { job: { id: string }; step: number }) => {
  if (step !== 10) return;
  while (!existsSync(\`.kit/jobs/\${job.id}/artifacts/step-60\`)) await new Promise((resolve) => setTimeout(resolve, 20));
  process.kill(process.pid, "SIGINT");
  await new Promise(() => {});
};`,
      options: `maxSteps: 60, saveSteps: 10, evalSplit: 0.5, evaluate: { rows: 1, metrics: { len: () => figures[asked++]! } },
        loadBestModelAtEnd: true, metricForBestModel: "len", greaterIsBetter: ${greaterIsBetter}, callbacks: { onCheckpoint },`,
    });
    const project = createTinyProject(source, { "data.jsonl": jsonl(ROWS) });
    const first = await runKit(project, ["start"], { FIGURES: `0,${ten}` });
    const [, id = ""] = /^job (\S+)/m.exec(first.stdout) ?? [];
    const { stdout } = await runKit(project, ["start", "--resume"], { FIGURES: `${sixty}` });
    expect(stdout).toContain(
      `warning: steps 20, 30, 40 and 50 were not evaluated by job ${id}, so none of them can be the best\n`,
    );
    const [, now = ""] = /^job (\S+)/m.exec(stdout) ?? [];
    const place = `.kit/jobs/${now}/artifacts`;
    expect(stdout).toContain(`: ${last.replace("DIR", place)}; try it: `);
    const compared = await runKit(project, ["jobs", "--compare", id, now]);
    const best = last.slice("best len ".length, last.indexOf(";"));
    const figures = (figure: number) => `${figure}, before 0, best ${best}`;
    expect(compared.stdout).toMatch(new RegExp(`^len +${figures(ten)} +${figures(sixty)}$`, "m"));
  },
);
