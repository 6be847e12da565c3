import { appendFileSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonl } from "../engines/embedded/scratch.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

const ROWS = Array.from({ length: 12 }, (_, n) => ({
  prompt: `${n}`,
  completion: n % 2 === 0 ? "even" : "odd",
}));
const OPTIONS = `
  model: { layers: 1, heads: 2, width: 32, context: 32 },
  evalDataset: { path: "held.jsonl" },
  evaluate: { metrics: { accuracy: ({ output, expected }: Answered) => output === expected }, maxTokens: 8 },
  maxSteps: 60, batchSize: 12, learningRate: 0.02, warmupSteps: 0,
`;

/** A project whose job has learned its rows by heart. */
async function trainedProject() {
  const source = tinySource({ options: OPTIONS });
  const project = createTinyProject(`import type { Answered } from "kit";\n${source}`, {
    "data.jsonl": jsonl(ROWS),
    "held.jsonl": jsonl(ROWS.slice(0, 4)),
  });
  const { code, stderr } = await runKit(project, ["start"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const answers = join(project, ".kit/answers");
  const kept = () => readdirSync(answers).map((name) => readFileSync(join(answers, name), "utf8"));
  return { project, answers, kept };
}

describe("kit eval", () => {
  it("compares a job's model with what it began as, by the trainer's metrics", async () => {
    const { project } = await trainedProject();
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines.slice(0, 6)).toEqual([
      "answers of latest and of base to 4 held-out rows",
      "metric    rows  before  after  difference",
      "accuracy  4     0       1      +1, 95 % +1 to +1 (paired bootstrap): more than chance",
      "",
      "4 rows changed: 0 worse, 4 better",
      "better    0",
    ]);
    expect(lines[6]).toBe("  expected even");
    expect(lines[8]).toBe("  after    even");
  });

  it("asks only what is new, also after an answer that a killed process left unfinished", async () => {
    const { project, answers, kept } = await trainedProject();
    await runKit(project, ["eval", "latest"]);
    const before = kept();
    expect(before.join("").trim().split("\n")).toHaveLength(8);
    for (const name of readdirSync(answers)) {
      expect(statSync(join(answers, name)).mode & 0o777).toBe(0o600);
      appendFileSync(join(answers, name), '\n{"key":"half');
    }
    const again = await runKit(project, ["eval", "latest"]);
    expect(again.code).toBe(0);
    expect(kept().map((text) => text.replace('\n{"key":"half', ""))).toEqual(before);
    writeFileSync(join(project, "more.jsonl"), jsonl(ROWS.slice(0, 6)));
    const more = await runKit(project, ["eval", "latest", "--data", "more.jsonl"]);
    expect(more.stdout).toContain("to 6 held-out rows\n");
    const lines = kept()
      .join("")
      .split("\n")
      .filter((line) => line.endsWith("}"));
    expect(lines).toHaveLength(12);
  });

  it("exits with 1 below a minimum, after the table", async () => {
    const { project } = await trainedProject();
    const { code, stdout, stderr } = await runKit(project, [
      ...["eval", "base", "--metric", "exactMatch", "labels", "--min", "exactMatch=0.5"],
    ]);
    expect(stdout).toMatch(/^answers of base to 4 held-out rows\nmetric +rows +figure\nexactMatch/);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "missed: exactMatch is 0, below 0.5\n",
    });
    expect((await runKit(project, ["eval", "latest", "--min", "accuracy=1"])).code).toBe(0);
  });

  it("prints all as JSON", async () => {
    const { project } = await trainedProject();
    const { stdout } = await runKit(project, ["eval", "latest", "--json", "--rows", "2"]);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ model: "latest", against: "base", rows: 2, missed: [] },
      figures: [{ name: "accuracy", rows: 2, before: 0, value: 1 }],
      changed: [{ after: expect.stringMatching(/^(even|odd)$/) as string, change: 1 }, {}],
    });
  });

  it("says what is wrong with what it is given", async () => {
    const { project } = await trainedProject();
    writeFileSync(join(project, "texts.jsonl"), jsonl([{ text: "a" }]));
    const wrong: [string[], number, RegExp][] = [
      [
        ["latest", "--metric", "bleu"],
        2,
        /^kit: There is no metric bleu\. Use one of exactMatch, /,
      ],
      [["latest", "--min", "f1=1"], 2, /^kit: --min names f1, which was not measured\. Use one of/],
      [["latest", "--min", "x"], 2, /It must be a metric and a figure, such as accuracy=0\.9/],
      [["latest", "--rows", "0"], 2, /It must be a whole number above 0/],
      [["nobody"], 2, /^kit: No job or folder named nobody in /],
      [["latest", "--data", "nowhere.jsonl"], 1, /^kit: Cannot read .*nowhere\.jsonl/],
      [["latest", "--data", "texts.jsonl"], 1, /^kit: No held-out row has an answer in words\./],
    ];
    for (const [args, code, message] of wrong) {
      const found = await runKit(project, ["eval", ...args]);
      expect(found.stderr).toMatch(message);
      expect(found.code).toBe(code);
    }
  });
});
