import { rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ENDLESS, TINY_DATA, createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";

function jobsOf(project: string) {
  return createJobStore(project).list();
}

const index = (project: string) => join(project, "src/kit/index.ts");

const stale = (what: string) =>
  `kit: ${what} after the last build, which this run uses. To train your latest edits, run: npx kit build\n`;

describe("kit start", () => {
  it("trains and prints plain lines", async () => {
    const project = createTinyProject();
    const { code, stdout, stderr } = await runKit(project, ["start"]);
    const [job] = jobsOf(project);
    const directory = `.kit/jobs/${job?.id}`;
    const step = (n: number) => `step ${n}/4 loss 5\\.\\d{4}`;
    const pace = " +[\\d,.]+k? tok/s \\d+s left";
    const last = `${directory}/artifacts/step-4`;
    const lines = [
      `job ${job?.id} tiny`,
      "training llama-8x1",
      "  parameters  3,160",
      "  data        data.jsonl",
      "  rows        8 of \\{prompt, completion\\}",
      "  tokens      48",
      "  steps       4 with 2 rows each",
      "  epochs      1",
      step(1),
      `${step(2)}(${pace})?`,
      `checkpoint ${directory}/artifacts/step-2`,
      step(3) + pace,
      step(4) + pace,
      `checkpoint ${last}`,
      `completed in \\d+s: loss \\d\\.\\d{4}; saved in ${last}; try it: npx kit infer ${basename(directory)}`,
    ];
    expect(stdout).toMatch(new RegExp(`^${lines.join("\n")}\n$`));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(job?.status).toBe("completed");
  });

  it("says in its last line that the loss ended above where it began, with what to try", async () => {
    const options = "maxSteps: 40, saveSteps: 40, warmupSteps: 2, learningRate: 10,";
    const project = createTinyProject(tinySource({ options }));
    const { code, stdout } = await runKit(project, ["start"]);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(
      /^completed in \d+s: loss [\d.]+, above the initial 5\.\d{4}: try a lower learningRate or more warmupSteps; saved in \S+; try it: /,
    );
    expect(code).toBe(0);
    expect(jobsOf(project)[0]?.status).toBe("completed");
  });

  it("fails where the loss ended ten times above, once all is saved, and again when it is resumed", async () => {
    const options =
      "maxSteps: 12, saveSteps: 12, warmupSteps: 1, learningRate: 40, lrSchedulerType: 'constant',";
    const project = createTinyProject(tinySource({ options }));
    const { code, stdout, stderr } = await runKit(project, ["start"]);
    const sentence =
      /failed: Training diverged: the loss ended at [\d.]+, more than ten times the 5\.\d+ where it began, with a learningRate of 40\. Try a learningRate of 0\.01 or less, or more warmupSteps\.$/m;
    expect(stderr).toMatch(sentence);
    expect({ code, saved: /^checkpoint \S+step-12$/m.test(stdout) }).toEqual({
      code: 1,
      saved: true,
    });
    const resumed = await runKit(project, ["start", "--resume"]);
    expect(resumed.stderr).toMatch(sentence);
    expect(resumed.code).toBe(1);
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["failed", "failed"]);
  });

  it("trains the last build, and builds if there is none", async () => {
    const project = createTinyProject(tinySource({ name: "old", options: "maxSteps: 1," }));
    expect(await runKit(project, ["start"])).toMatchObject({
      stdout: expect.stringContaining(" old\n"),
      stderr: "",
    });
    writeFileSync(index(project), tinySource({ name: "new", options: "maxSteps: 1," }));
    expect(await runKit(project, ["start"])).toMatchObject({
      stdout: expect.stringContaining(" old\n"),
      stderr: stale("src/kit/index.ts changed"),
    });
    expect((await runKit(project, ["build"])).stdout).toBe("built .kit/build/index.mjs\n");
    expect(await runKit(project, ["start"])).toMatchObject({
      stdout: expect.stringContaining(" new\n"),
      stderr: "",
    });
  });

  it.each([
    ["an edit", tinySource({ name: "new" })],
    ["an edit with a syntax error", "export default {"],
  ])("says last before it trains that it trains the build before %s", async (_, edited) => {
    const name = "my own";
    const before = `console.log("loaded");`;
    const parent = createTinyProject("", {
      [`${name}/src/kit/index.ts`]: tinySource({ before, options: "maxSteps: 1," }),
      [`${name}/data.jsonl`]: TINY_DATA,
    });
    const project = join(parent, name);
    expect((await runKit(project, ["build"])).code).toBe(0);
    writeFileSync(index(project), edited);
    const both = ["sh", "-c", 'exec "$0" "$@" 2>&1'];
    const { stdout } = await startKit(parent, ["start", "--project", name], {}, both).ended;
    const lines = stdout.split("\n");
    const at = lines.findIndex((line) => line.startsWith("kit: "));
    expect(lines[at]).toBe(stale("src/kit/index.ts changed").trimEnd() + ` --project '${name}'`);
    expect(lines.slice(0, at).join("\n")).toMatch(/^loaded\njob .*\ntraining [^]*\n {2}epochs /);
    expect(lines[at + 1]).toMatch(/^step 1\/1 /);
  });

  it("says after an error that the build may be why", async () => {
    const project = createTinyProject(`throw new Error("mended");`);
    await runKit(project, ["build"]);
    writeFileSync(index(project), tinySource());
    const { stderr } = await runKit(project, ["start"]);
    const error = "kit: Error: mended (src/kit/index.ts:1:7)\n";
    expect(stderr).toBe(error + stale("src/kit/index.ts changed"));
  });

  it("says which file is not the one that was built, by content and not by time", async () => {
    const [entry, level, rows] = ["src/kit/index.ts", "src/kit/level.ts", "shared/rows.json"];
    const before = `import { Level } from "./level"; import rows from "../../shared/rows.json";
console.log(Level.High, rows.length); process.exit();`;
    const files = { [level]: "export enum Level { High = 7 }", [rows]: "[]" };
    const project = createTinyProject(tinySource({ before }), files);
    const firstLine = async () => (await runKit(project, ["start"])).stderr.split("\n")[0];
    const none =
      "kit: src/kit/index.ts ended the process (exit code 0) while it was loaded. Remove the process.exit() from this file or its imports.";
    expect((await runKit(project, ["build"])).code).toBe(0);
    expect(await firstLine()).toBe(none);

    // Another time, the same content.
    utimesSync(join(project, level), new Date(), new Date(Date.now() + 3_600_000));
    expect(await firstLine()).toBe(none);
    // Another content, an older time; of an enum only the value is in the bundle.
    writeFileSync(join(project, level), "export enum Level { High = 8 }");
    utimesSync(join(project, level), new Date(0), new Date(0));
    expect(`${await firstLine()}\n`).toBe(stale("src/kit/level.ts changed"));
    writeFileSync(join(project, level), files[level]!);
    expect(await firstLine()).toBe(none);

    rmSync(join(project, rows));
    expect(`${await firstLine()}\n`).toBe(stale("shared/rows.json was removed"));
    writeFileSync(join(project, entry), "");
    expect(`${await firstLine()}\n`).toMatch(/^kit: \S+ and 1 more changed after /);
  });

  it("says nothing of a bundle that does not name its files", async () => {
    const project = createTinyProject("", { ".kit/build/index.mjs": "process.exit(3);" });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(/^kit: src\/kit\/index\.ts ended the process/);
  });

  it("builds an entry that is named, whatever was built before", async () => {
    const project = createTinyProject(undefined, {
      "other.ts": tinySource({ name: "other", options: "maxSteps: 1," }),
    });
    await runKit(project, ["build"]);
    const { code, stdout } = await runKit(project, ["start", "other.ts"]);
    expect(code).toBe(0);
    expect(stdout).toContain(" other\n");
  });

  it("leaves the project's own bundle as it is when an entry is named", async () => {
    const one = "maxSteps: 1,";
    const project = createTinyProject(tinySource({ name: "mine", options: one }), {
      "other.ts": tinySource({ name: "other", options: one }),
      "deep/other.ts": tinySource({ name: "deeper", options: one }),
    });
    expect((await runKit(project, ["build", "./src/kit/index.ts"])).stdout).toBe(
      "built .kit/build/index.mjs\n",
    );
    const built = await Promise.all(
      ["other.ts", "deep/other.ts"].map((entry) => runKit(project, ["build", entry])),
    );
    expect(new Set(built.map(({ stdout }) => stdout)).size).toBe(2);
    expect((await runKit(project, ["start", "deep/other.ts"])).stdout).toContain(" deeper\n");
    expect((await runKit(project, ["start"])).stdout).toContain(" mine\n");
  });

  it("trains the project that --project names", async () => {
    const project = createTinyProject(tinySource({ options: "maxSteps: 1," }));
    const { code } = await runKit("/", ["start", "--project", project]);
    expect(code).toBe(0);
    expect(jobsOf(project)).toHaveLength(1);
  });

  it("ends when the training has, whatever the project's code leaves open", async () => {
    const before = `setInterval(() => {}, 1000); (await import("node:net")).createServer().listen(0);`;
    const project = createTinyProject(tinySource({ before, options: "maxSteps: 1," }));
    expect((await runKit(project, ["start"])).code).toBe(0);
  });

  it("prints the project's own output between its lines", async () => {
    const options = `maxSteps: 1, callbacks: { onLog: ({ step }) => console.log("mine", step) },`;
    const { stdout } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
    expect(stdout).toContain("\nmine 1\n");
  });

  it("says that it reads a large dataset, and which rows it leaves out, before it trains", async () => {
    const rows = Array.from({ length: 20 }, (_, n) =>
      JSON.stringify({ prompt: "p".repeat(30 * n), completion: "the answer to it" }),
    );
    const project = createTinyProject(
      tinySource({
        options: "maxSteps: 1, model: { layers: 1, heads: 1, width: 8, context: 256 },",
      }),
      { "data.jsonl": [" ".repeat(17e6), ...rows].join("\n") },
    );
    const { stdout } = await runKit(project, ["start"]);
    expect(stdout).toMatch(/^job .*\nreading the dataset, 17 MB\ntraining llama-8x1\n/);
    expect(stdout).toContain(`
warning: 11 of 20 rows skipped: the prompt leaves no room for an answer in 256 tokens; 1 truncated
  to keep them: model: { layers: 1, heads: 1, width: 8, context: 591 }
step 1/1 `);
  });

  it("warns of rows without an answer, naming the first", async () => {
    const answers = ["1", "", "3", " \t"];
    const rows = answers.map((completion) => JSON.stringify({ prompt: "1", completion }));
    const project = createTinyProject(tinySource({ options: "maxSteps: 1," }), {
      "data.jsonl": [...rows, '{"text":""}'].join("\n"),
    });
    const { stdout } = await runKit(project, ["start"]);
    expect(stdout).toContain(
      `\nwarning: an empty answer or text in 3 of 5 rows\n  the first is ${project}/data.jsonl:2\ntraining `,
    );
  });

  it("warns of a warm-up longer than the training, and of a step that repeats rows", async () => {
    const options = `batchSize: 9, warmupSteps: 5,`;
    const { stdout } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
    expect(stdout).toContain(`
warning: training takes 4 steps, but warmupSteps is 5
  lower it to reach the learning rate of 0.004
warning: a step takes 9 rows, more than there are, so some repeat
  lower batchSize, or add rows
step 1/4 `);
  });

  it.each([
    [1, "is a single row, and training repeats it 60 times", { batchSize: 3, maxSteps: 20 }],
    [2, "are only 2 rows, and training repeats them 30 times", { batchSize: 3, maxSteps: 20 }],
    [8, "are only 8 rows, and training repeats them 125 times", { batchSize: 100, maxSteps: 10 }],
  ])("warns of %i rows that are repeated, and of batchSize", async (rows, there, sizes) => {
    const data = Array.from({ length: rows }, (_, n) => `{"text":"${n}"}`).join("\n");
    const options = `...${JSON.stringify(sizes)},`;
    const project = createTinyProject(tinySource({ options }), { "data.jsonl": data });
    const { stdout } = await runKit(project, ["start"]);
    expect(stdout.match(/^warning: .*\n.*/gm)).toEqual([
      `warning: there ${there}, so the model memorizes ${rows === 1 ? "it" : "them"}\n  add rows (a task takes a hundred or more), or train for fewer steps`,
      `warning: a step takes ${sizes.batchSize} rows, more than there are, so some repeat\n  lower batchSize, or add rows`,
    ]);
  });

  it("goes on when nobody reads its output any more", async () => {
    const project = createTinyProject();
    const { child, printed } = startKit(project, ["start"]);
    const isOver = new Promise((resolve) => child.once("exit", resolve));
    await printed(/^job /);
    child.stdout.destroy();
    child.stderr.destroy();
    expect(await isOver).toBe(0);
    expect(jobsOf(project)).toMatchObject([{ status: "completed" }]);
  });
});

describe("a job fails", () => {
  it("when a callback throws: exit code 1, its message and its place in the TypeScript, once", async () => {
    const options = "callbacks: { onCheckpoint: () => own({ room: 0 }) },";
    const before = 'import { own } from "./own";';
    const own = `interface Place {\n  room: number;\n}\n
export function own({ room }: Place): never {\n  throw new Error("no room left: " + room);\n}`;
    const project = createTinyProject(tinySource({ options, before }), { "src/kit/own.ts": own });
    // As /tmp is a link on macOS; and .kit may be one.
    const elsewhere = createProject({ "a/b/c/kit/file": "" });
    const link = join(elsewhere, "link");
    symlinkSync(project, link, "junction");
    symlinkSync(join(elsewhere, "a/b/c/kit"), join(project, ".kit"), "junction");
    expect(await runKit(project, ["start", "--project", link])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^failed: no room left: 0\n {2}checkpoint {2}\.kit\/jobs\/\S+\/artifacts\/step-\d\n {2}at src\/kit\/own\.ts:6:9\n$/,
      ),
    });
    expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
    const { stderr } = await runKit(project, ["start"], { DEBUG: "kit" });
    expect(stderr).toMatch(/\n    at own \(\S*src\/kit\/own\.ts:6:9\)\n.*src\/kit\/index\.ts:/);
  });

  it("when a callback awaits a promise that never settles", async () => {
    const options = `callbacks: { onLog: () => new Promise(() => {}) },`;
    const project = createTinyProject(tinySource({ options }));
    const { code, stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(
      /^failed: onLog never returned\. Look for a promise in it that does not settle\.\n {2}checkpoint /,
    );
    expect(code).toBe(1);
    expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
  });

  it("when the project's code throws outside of its callbacks", async () => {
    const options = `${ENDLESS} callbacks: { onLog() { setTimeout(() => { throw new Error("aside"); }); } },`;
    const project = createTinyProject(tinySource({ options }));
    const { code, stderr } = await runKit(project, ["start"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^failed: aside\n {2}at src\/kit\/index\.ts:\d+:\d+\n$/),
    });
    expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
  });
});
