import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { fillDisk, makeReadOnly, mountDisk } from "../disk.ts";
import { jsonl } from "../engines/embedded/scratch.ts";
import { createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";

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

/** Trained once. Copies of it ask the rows that lie here, where the job found them. */
let template: string | undefined;
afterAll(() => {
  if (template !== undefined) rmSync(template, { recursive: true, force: true, maxRetries: 5 });
});

/** A project whose job has learned its rows by heart. */
async function trainedProject() {
  template ??= await trainTemplate();
  const project = createProject();
  cpSync(template, project, { recursive: true, preserveTimestamps: true });
  const answers = join(project, ".kit/answers");
  // Of models in the folder that this is a copy of.
  rmSync(answers, { recursive: true });
  const kept = () => answersIn(project);
  const [job = ""] = readdirSync(join(project, ".kit/jobs"));
  return { project, answers, kept, job };
}

/** The text of each file of kept answers. */
function answersIn(project: string): string[] {
  const answers = join(project, ".kit/answers");
  return readdirSync(answers).map((name) => readFileSync(join(answers, name), "utf8"));
}

async function trainTemplate(): Promise<string> {
  const source = tinySource({ options: OPTIONS });
  const made = createTinyProject(`import type { Answered } from "kit";\n${source}`, {
    "data.jsonl": jsonl(ROWS),
    "held.jsonl": jsonl(ROWS.slice(0, 4)),
  });
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kit-test-")));
  cpSync(made, folder, { recursive: true });
  const { code, stderr } = await runKit(folder, ["start"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return folder;
}

/** Source of another metric in place of the project's. @param before what stands before the trainer */
function writeMetric(project: string, metric: string, before = ""): void {
  const options = OPTIONS.replace(/\(\{ output, expected \}.*?expected(?= \})/, metric);
  writeFileSync(join(project, "src/kit/index.ts"), tinySource({ options, before }));
}

describe("kit eval", () => {
  it("compares a job's model with what it began as, by the trainer's metrics", async () => {
    const { project } = await trainedProject();
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines.slice(0, 6)).toEqual([
      "evaluated latest against base on 4 held-out rows",
      "metric    rows  before  after  difference",
      "accuracy  4     0       1      +1, 95 % CI [+1, +1] (paired bootstrap), not significant",
      "",
      "4 rows changed: 0 worse, 4 better",
      "better    0",
    ]);
    expect(lines[6]).toBe("  expected even");
    expect(lines[8]).toBe("  after    even");
    expect(stdout).not.toContain("wrong");
  });

  it("shows a few of the rows that are still wrong, and counts the rest", async () => {
    const { project } = await trainedProject();
    const wrong = ROWS.slice(0, 6).map(({ prompt }) => ({ prompt, completion: "prime" }));
    writeFileSync(join(project, "some.jsonl"), jsonl([...ROWS.slice(6, 7), ...wrong]));
    const asking = ["eval", "latest", "--data", "some.jsonl"];
    const { stdout } = await runKit(project, asking);
    const shown = wrong.slice(0, 5).flatMap(({ prompt }, n) => {
      return [`wrong     ${prompt}`, "  expected prime", `  answer   ${ROWS[n]?.completion}`];
    });
    const all = ["", "6 rows are wrong", ...shown, "and 1 more; --json prints all", ""];
    expect(stdout.split("\n").slice(-all.length)).toEqual(all);
    const json = await runKit(project, [...asking, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      changed: [{ input: "6" }],
      wrong: wrong.map(({ prompt }, n) => {
        return { input: prompt, expected: "prime", answer: ROWS[n]?.completion };
      }),
    });
    writeFileSync(join(project, "some.jsonl"), jsonl([...ROWS.slice(6, 7), ...wrong.slice(0, 1)]));
    const one = await runKit(project, asking);
    expect(one.stdout).toMatch(/\n\n1 row is wrong\nwrong {5}0\n.*\n {2}answer {3}even\n$/);
  });

  it("lists a row once, also one that is in the file twice or got worse", async () => {
    const { project } = await trainedProject();
    const wrong = { prompt: "1", completion: "prime" };
    writeFileSync(join(project, "some.jsonl"), jsonl([wrong, ROWS[0]!, wrong, ROWS[0]!]));
    const { stdout } = await runKit(project, ["eval", "latest", "--data", "some.jsonl"]);
    expect(stdout).toMatch(
      /\n2 rows changed: 0 worse, 2 better\nbetter {4}0\n(?: .*\n){3}\n2 rows/,
    );
    expect(stdout.slice(stdout.indexOf("2 rows are"))).toBe(
      "2 rows are wrong\nwrong     1\n  expected prime\n  answer   odd\n",
    );
  });

  it("writes the wrong rows with what was answered, to correct and train on", async () => {
    const { project } = await trainedProject();
    const asked = [{ role: "user", content: "1" }];
    const messages = [...asked, { role: "assistant", content: "prime" }];
    const big = '{"prompt":"2","completion":"12345678901234567890"}';
    writeFileSync(
      join(project, "some.jsonl"),
      `${jsonl([ROWS[0]!, { messages }])}\n${big}\n`.replace("\n\n", "\n"),
    );
    const asking = ["eval", "latest", "--data", "some.jsonl", "--wrong", "wrong.jsonl"];
    const { code, stdout, stderr } = await runKit(project, asking);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/\nwrote 2 wrong rows to wrong\.jsonl\n$/);
    const written = readFileSync(join(project, "wrong.jsonl"), "utf8");
    expect(written).toBe(
      `${JSON.stringify({ messages, got: "odd" })}\n${big.replace("}", ',"got":"even"}')}\n`,
    );
    // Its rows may be corrected by now.
    expect(await runKit(project, asking)).toMatchObject({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringMatching(/^kit: \S+wrong\.jsonl already exists\. Pass another file/),
    });
    writeFileSync(join(project, "data.jsonl"), written);
    const checked = await runKit(project, ["check"]);
    expect(checked).toMatchObject({ code: 0 });
    expect(checked.stdout).toContain("rows        2 of {messages} | {prompt, completion}");
    expect(checked.stderr).toMatch(/^ignoring keys in \S+data\.jsonl: "got" of 2 rows\n$/);
  });

  it("has a figure of each field, which a gate may name", async () => {
    const { project } = await trainedProject();
    const row = { prompt: "1", completion: '{"a":1}' };
    writeFileSync(join(project, "some.jsonl"), jsonl([row]));
    const asking = ["eval", "latest", "--data", "some.jsonl", "--metric", "jsonFields"];
    const found = await runKit(project, [...asking, "--min", "jsonFields.a=1"]);
    expect(found.stdout).toMatch(/\njsonFields {4}1 .*\njsonFields\.a {2}1 {5}0 /);
    expect(found).toMatchObject({ code: 1, stderr: "missed: jsonFields.a is 0, below 1\n" });
    const other = await runKit(project, [
      ...asking,
      "--metric",
      "validJson",
      "--min",
      "validJson.a=1",
    ]);
    expect(other.stderr).toMatch(/^kit: --min names validJson\.a, which is not a metric here\./);
  });

  it("answers in a project that can only be read, by what was built last", async () => {
    const { project, job } = await trainedProject();
    const folder = join(project, "read");
    mountDisk(folder, 4096);
    for (const name of ["src", "held.jsonl", ".kit", "node_modules", "package.json"]) {
      const from = join(project, name);
      if (existsSync(from))
        cpSync(from, join(folder, name), { recursive: true, preserveTimestamps: true });
    }
    const path = join(folder, "src/kit/index.ts");
    writeFileSync(path, `${readFileSync(path, "utf8")}// Edited.`);
    makeReadOnly(folder);
    const { code, stdout, stderr } = await runKit(folder, ["eval", job]);
    expect(stdout).toContain("\naccuracy  4     0       1      +1, ");
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning: src\/kit\/index\.ts changed after the last build, which this run uses\..*\nwarning: Cannot keep answers in .*EROFS/,
    );
  });

  it("tells its figures of a model that cannot be closed", async () => {
    const { project, job } = await trainedProject();
    const engine = `{ name: "mine", prepare: (asked) => asked, check: async () => ({}), train: async () => {},
      load: async () => ({ infer: async () => ({ text: "even", finishReason: "stop", promptTokens: 1, tokens: 1 }),
        close: async () => { throw new Error("still busy"); } }) } as never`;
    writeFileSync(
      join(project, "src/kit/index.ts"),
      tinySource({ options: `${OPTIONS} engine: ${engine},` }),
    );
    const path = join(project, ".kit/jobs", job, "job.json");
    const record = JSON.parse(readFileSync(path, "utf8")) as { config: object };
    const config = { ...record.config, engine: { name: "mine" } };
    writeFileSync(path, JSON.stringify({ ...record, config }));
    rmSync(join(project, ".kit/build"), { recursive: true });
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest"]);
    expect(stdout).toContain("\naccuracy  4     0.5 ");
    expect(stderr).toBe(
      ["base", "latest"]
        .map((name) => `warning: the engine of ${name} failed to close a model: still busy\n`)
        .join(""),
    );
    expect(code).toBe(0);
  });

  it("takes the answers that the job has asked, of both models, also for fewer rows", async () => {
    const project = (template ??= await trainTemplate());
    const before = answersIn(project);
    const { stdout } = await runKit(project, ["eval", "latest", "--rows", "3"]);
    expect(stdout).toContain("accuracy  3     0       1      +1, ");
    expect((await runKit(project, ["eval", "latest"])).code).toBe(0);
    expect(answersIn(project)).toEqual(before);
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
    expect(more.stdout).toContain("on 6 held-out rows\n");
    const lines = kept()
      .join("")
      .split("\n")
      .filter((line) => line.endsWith("}"));
    expect(lines).toHaveLength(12);
  });

  it("exits with 1 below a minimum, after the table", async () => {
    const { project } = await trainedProject();
    const { code, stdout, stderr } = await runKit(project, [
      ...["eval", "base", "--metric", "exactMatch", "labels", "--min", "exactMatch=5e-1"],
    ]);
    expect(stdout).toMatch(/^evaluated base on 4 held-out rows\nmetric +rows +value\nexactMatch/);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "missed: exactMatch is 0, below 0.5\n",
    });
    expect((await runKit(project, ["eval", "latest", "--min", "accuracy=1"])).code).toBe(0);
  });

  it.each(["", "await new Promise((resolve) => setTimeout(resolve, 1));"])(
    "does not pass when a metric ends the process (%j)",
    async (before) => {
      const { project } = await trainedProject();
      writeMetric(project, `async () => { ${before} process.exit(0); }`);
      const asking = ["eval", "latest", "--min", "accuracy=0.99"];
      expect(await runKit(project, asking)).toEqual({
        ...{ code: 1, stdout: "" },
        stderr:
          "kit: The process ended with exit code 0 before the evaluation did. Remove the process.exit(), or the promise that never settles, from the project's code.\n",
      });
    },
  );

  it("fails below --min, whatever code the project's own listeners set", async () => {
    const { project } = await trainedProject();
    writeMetric(project, "() => 0", `process.on("exit", () => (process.exitCode = 0));`);
    const { code, stderr } = await runKit(project, ["eval", "latest", "--min", "accuracy=0.99"]);
    expect(stderr).toMatch(/^missed: accuracy/m);
    expect(code).toBe(1);
  });

  it("keeps stdout for the JSON, whatever the project's code prints", async () => {
    const { project } = await trainedProject();
    writeMetric(
      project,
      '() => (console.log("scored"), process.stdout.write("!"), 1)',
      'console.log("loaded");',
    );
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ figures: [{ name: "accuracy", value: 1 }] });
    expect(stderr).toBe(`loaded\n${"scored\n!".repeat(8)}`);
    const checked = await runKit(project, ["check", "--json"]);
    expect(checked).toMatchObject({ code: 0, stderr: "loaded\n" });
    expect(JSON.parse(checked.stdout)).toHaveProperty("learnedTokens");
  });

  it("keeps answers up to a limit, the newest", async () => {
    const { project, answers } = await trainedProject();
    await runKit(project, ["eval", "latest"]);
    const own = readdirSync(answers);
    for (const [i, name] of ["older", "old"].entries()) {
      const path = join(answers, `${name}.ndjson`);
      writeFileSync(path, "");
      truncateSync(path, 2 ** 25 + 2 ** 24);
      utimesSync(path, 1 + i, 1 + i);
    }
    expect((await runKit(project, ["eval", "latest"])).code).toBe(0);
    expect(readdirSync(answers).toSorted()).toEqual([...own, "old.ndjson"].toSorted());
  });

  it("says which metric gives scores that are too large to compare", async () => {
    const { project } = await trainedProject();
    writeMetric(project, "() => 1e308");
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^kit: The metric accuracy returned 1e\+308 for row 1, "0"\. Make it/);
  });

  it("exits with 1 above a maximum, and takes rows from where the user is", async () => {
    const { project } = await trainedProject();
    const elsewhere = createProject({ "rows.jsonl": jsonl(ROWS.slice(0, 3)) });
    const asked = ["eval", "latest", "--project", project, "--data", "rows.jsonl"];
    const { code, stdout, stderr } = await runKit(elsewhere, [...asked, "--max", "accuracy=0.5"]);
    expect(stdout).toMatch(/^evaluated \S+ against \S+ on 3 held-out rows\n/);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "missed: accuracy is 1, above 0.5\n" });
    expect((await runKit(elsewhere, [...asked, "--max", "accuracy=1"])).code).toBe(0);
    expect(await runKit(elsewhere, [...asked, "--max", "f1=1"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^kit: --max names f1, which is not a metric here\./),
    });
  });

  it("of a model beside itself finds no difference", async () => {
    const { project } = await trainedProject();
    const { code, stdout } = await runKit(project, ["eval", "latest", "--against", "latest"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `evaluated latest against latest on 4 held-out rows
metric    rows  before  after  difference
accuracy  4     1       1      0, 95 % CI [0, 0] (paired bootstrap), not significant
`,
    });
  });

  it("two at once say the same, and have kept what they asked", async () => {
    const { project, kept } = await trainedProject();
    const both = await Promise.all([1, 2].map(() => runKit(project, ["eval", "latest"])));
    expect(both[0]).toMatchObject({ code: 0, stderr: "" });
    expect(both[1]).toEqual(both[0]);
    const before = kept();
    expect(await runKit(project, ["eval", "latest"])).toEqual(both[0]);
    expect(kept()).toEqual(before);
  });

  it("goes on without keeping answers where it cannot, and says so", async () => {
    const { project, answers } = await trainedProject();
    mountDisk(answers, 64);
    fillDisk(answers);
    const { code, stdout, stderr } = await runKit(project, ["eval", "latest"]);
    expect(code).toBe(0);
    expect(stdout).toContain("\naccuracy  4     0       1      +1, ");
    const line = String.raw`warning: Cannot keep answers in \S+: ENOSPC: .*free disk space\.\n`;
    // Of each model.
    expect(stderr).toMatch(new RegExp(`^${line}${line}$`));
  });

  it("leaves a metric that never returns at a signal, and keeps the answers", async () => {
    const { project, kept } = await trainedProject();
    const source = readFileSync(join(project, "src/kit/index.ts"), "utf8");
    const stuck =
      "() => { console.log('judging'); setInterval(() => {}, 1000); return new Promise<number>(() => {}); }";
    const edited = source.replace("metrics: {", `metrics: { stuck: ${stuck},`);
    writeFileSync(join(project, "src/kit/index.ts"), edited);
    const evaluating = startKit(project, ["eval", "latest"]);
    await evaluating.printed(/waiting/);
    evaluating.child.kill("SIGINT");
    expect(await evaluating.ended).toEqual({
      code: 130,
      stdout: "judging\n",
      stderr: `waiting for the metric stuck on row 1, "0"
Interrupted. Run the same command again to continue.
`,
    });
    expect(kept().join("").trim().split("\n")).toHaveLength(8);
    writeFileSync(join(project, "src/kit/index.ts"), edited.replace("setInterval", "String"));
    const idle = await runKit(project, ["eval", "latest"]);
    expect(idle).toMatchObject({
      code: 1,
      stderr:
        'kit: The metric stuck never returned for row 1, "0". Look for a promise in it that does not settle.\n',
    });
  });

  it("measures a model without a job or a project by the built-in metrics", async () => {
    const { project, job } = await trainedProject();
    const elsewhere = createProject({ "rows.jsonl": jsonl(ROWS.slice(0, 3)) });
    const folder = join(project, ".kit/jobs", job, "artifacts/step-60");
    const found = await runKit(elsewhere, ["eval", folder, "--data", "rows.jsonl", "--json"]);
    expect(found).toMatchObject({ code: 0, stderr: "" });
    const { figures } = JSON.parse(found.stdout) as { figures: object[] };
    expect(figures).toMatchObject([
      { name: "exactMatch", rows: 3, value: 1, by: "Wilson" },
      { name: "validJson", value: 0 },
      { name: "jsonFields", value: 0 },
      { name: "labels", value: 1, by: "bootstrap" },
      { name: "labelsMacroF1", value: 1 },
    ]);
    const misspelt = ["eval", folder, "--data", "rows.jsonl", "--metric", "labels"];
    expect(await runKit(elsewhere, [...misspelt, "--min", "labelsF1=1"])).toMatchObject({
      code: 1,
      stderr: "missed: labelsF1 has no value; these have one: labels, labelsMacroF1\n",
    });
    expect(await runKit(elsewhere, ["eval", folder])).toMatchObject({
      ...{ code: 2, stdout: "" },
      stderr: "kit: A model without a job has no held-out rows. Pass a file of rows with --data.\n",
    });
    expect((await runKit(elsewhere, ["eval", "base"])).stderr).toMatch(/^kit: There is no job in /);
  });

  it("asks a model without a job for the rows of the job that it is compared with", async () => {
    const { project, job } = await trainedProject();
    cpSync(join(project, ".kit/jobs", job, "artifacts/step-60"), join(project, "copy"), {
      recursive: true,
    });
    const { code, stdout } = await runKit(project, ["eval", "./copy", "--against", job]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("\naccuracy  4     1       1      0, ") as string,
    });
  });

  it("says how many rows have no answer to compare with", async () => {
    const { project } = await trainedProject();
    const rows = [
      ...ROWS.slice(0, 2),
      { text: "a" },
      { messages: [{ role: "user", content: "1" }] },
    ];
    writeFileSync(join(project, "some.jsonl"), jsonl(rows.slice(0, 3)));
    const { code, stdout } = await runKit(project, ["eval", "latest", "--data", "some.jsonl"]);
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(0, 2)).toEqual([
      "evaluated latest against base on 2 held-out rows",
      "1 more have no text answer to compare with",
    ]);
    writeFileSync(join(project, "half.jsonl"), jsonl([{ prompt: "1" }]));
    const half = await runKit(project, ["eval", "latest", "--data", "half.jsonl"]);
    expect(half).toMatchObject({ code: 1, stdout: "" });
    expect(half.stderr).toMatch(/^kit: \S+half\.jsonl:1: .*completion/);
  });

  it("leaves out rows that do not fit into a model, and says so", async () => {
    const { project } = await trainedProject();
    const long = { prompt: "9".repeat(100), completion: "odd" };
    writeFileSync(join(project, "long.jsonl"), jsonl([long, ...ROWS.slice(0, 2), long]));
    const { code, stdout, stderr } = await runKit(project, [
      "eval",
      "latest",
      "--data",
      "long.jsonl",
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^evaluated latest against base on 2 of 4 held-out rows\n/);
    expect(stderr).toMatch(
      /^warning: base: 2 rows refused by the model: The prompt is too long: its \d+ tokens/,
    );
    writeFileSync(join(project, "long.jsonl"), jsonl([long]));
    const none = await runKit(project, ["eval", "latest", "--data", "long.jsonl"]);
    expect(none).toMatchObject({
      stdout: "",
      stderr: expect.stringMatching(/^kit: The prompt is too long/) as string,
    });
  });

  it("shows what a model answered, and does not let it act on the terminal", async () => {
    const { project, answers } = await trainedProject();
    await runKit(project, ["eval", "latest"]);
    const hostile = JSON.stringify("\u001b[2J\u009bm\u202e");
    for (const path of readdirSync(answers).map((name) => join(answers, name))) {
      const text = readFileSync(path, "utf8");
      // The base's: the rows still change.
      if (text.includes('"text":"even"')) continue;
      writeFileSync(
        path,
        text.replaceAll(/"text":".*?",/g, () => `"text":${hostile},`),
      );
    }
    for (const more of [[], ["--json"]]) {
      const { code, stdout } = await runKit(project, ["eval", "latest", ...more]);
      expect(code).toBe(0);
      expect(stdout).toContain(String.raw`\u001b[2J`);
      // oxlint-disable-next-line no-control-regex -- They are what must not be there.
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
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
      [
        ["latest", "--min", "f1=1"],
        2,
        /^kit: --min names f1, which is not a metric here\. Use one of/,
      ],
      [["latest", "--min", "x"], 2, /It must be a metric and a number, such as accuracy=0\.9/],
      [["latest", "--rows", "0"], 2, /It must be a whole number above 0/],
      [["nobody"], 2, /^kit: No job, folder or file named nobody in /],
      [["latest", "--data", "nowhere.jsonl"], 1, /^kit: Cannot read .*nowhere\.jsonl/],
      [["latest", "--data", "texts.jsonl"], 1, /^kit: No held-out row has a text answer\./],
    ];
    for (const [args, code, message] of wrong) {
      const found = await runKit(project, ["eval", ...args]);
      expect(found.stderr).toMatch(message);
      expect(found.code).toBe(code);
    }
  });
});
