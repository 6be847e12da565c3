import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ENDLESS, createTinyProject, runKit, startKit, tinySource } from "../kit.ts";

function jobsOf(project: string) {
  return createJobStore(project).list();
}

const index = (project: string) => join(project, "src/kit/index.ts");

describe("kit start", () => {
  it("trains and prints plain lines", async () => {
    const project = createTinyProject();
    const { code, stdout, stderr } = await runKit(project, ["start"]);
    const [job] = jobsOf(project);
    const directory = `.kit/jobs/${job?.id}`;
    const step = (n: number) => `step ${n}/4  loss 5\\.\\d{4}`;
    const pace = " +[\\d,]+ tokens/s +\\d+s left";
    const last = `${directory}/artifacts/step-4`;
    const lines = [
      `job ${job?.id} tiny`,
      "training llama-8x1",
      "  parameters  3,160",
      "  data        data.jsonl, 8 rows of \\{prompt, completion\\}, 48 tokens",
      "  steps       4 of 2 rows, 1 pass over the data",
      step(1),
      step(2) + pace,
      `checkpoint ${directory}/artifacts/step-2`,
      step(3) + pace,
      step(4) + pace,
      `checkpoint ${last}`,
      `completed in \\d+s: ${last}`,
      `  TypeScript  const model = await loadModel\\("${last}"\\); // from "kit"`,
      `  Python      model = AutoModelForCausalLM\\.from_pretrained\\("${last}"\\)`,
    ];
    expect(stdout).toMatch(new RegExp(`^${lines.join("\n")}\n$`));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(job?.status).toBe("completed");
  });

  it("trains what was built before, and builds when nothing was", async () => {
    const project = createTinyProject(tinySource({ name: "old", options: "maxSteps: 1," }));
    expect((await runKit(project, ["start"])).stdout).toContain(" old\n");
    writeFileSync(index(project), tinySource({ name: "new", options: "maxSteps: 1," }));
    expect((await runKit(project, ["start"])).stdout).toContain(" old\n");
    expect((await runKit(project, ["build"])).stdout).toBe("built .kit/build/index.mjs\n");
    expect((await runKit(project, ["start"])).stdout).toContain(" new\n");
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

  it("shows what the project's code prints between its own lines", async () => {
    const options = `maxSteps: 1, callbacks: { onLog: ({ step }) => console.log("mine", step) },`;
    const { stdout } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
    expect(stdout).toContain("\nmine 1\n");
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

describe("kit start exits", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "with 130 on %s, the job cancelled",
    async (signal) => {
      const project = createTinyProject(tinySource({ options: ENDLESS }));
      const { child, printed, ended } = startKit(project, ["start"]);
      await printed(/step +1\//);
      child.kill(signal);
      const { code, stdout, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
      expect(stdout).toMatch(/\ncancelled at step \d+\n$/);
      expect(jobsOf(project)).toMatchObject([{ status: "cancelled" }]);
    },
  );

  it.each(["SIGTERM", "SIGHUP"] as const)(
    "with 130 on %s while the project's code is loaded, without a job",
    async (signal) => {
      const before = `console.log("loading"); await new Promise((go) => setTimeout(go, 60_000));`;
      const project = createTinyProject(tinySource({ before }));
      const { child, printed, ended } = startKit(project, ["start"]);
      await printed(/^loading/);
      child.kill(signal);
      expect(await ended).toEqual({ code: 130, stdout: "loading\n", stderr: "" });
      expect(jobsOf(project)).toEqual([]);
    },
  );

  it("on SIGINT also while the project's code is in a loop", async () => {
    const project = createTinyProject(tinySource({ before: `console.log("loading"); for (;;);` }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/^loading/);
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: null, stdout: "loading\n", stderr: "" });
    // As a shell reports it: 128 + 2.
    expect(child.signalCode).toBe("SIGINT");
  });

  it("with 130 when it is interrupted twice, onCancelled called once", async () => {
    const options = `${ENDLESS} callbacks: { onCancelled: () => console.log("bye") },`;
    const project = createTinyProject(tinySource({ options }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/step +1\//);
    child.kill("SIGINT");
    child.kill("SIGTERM");
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout.match(/bye|cancelled/g)).toEqual(["cancelled", "bye"]);
  });

  it("with 130 at a second signal while onCancelled goes on", async () => {
    const options = `${ENDLESS} callbacks: { onCancelled: () => new Promise(() => setInterval(() => {}, 1000)) },`;
    const project = createTinyProject(tinySource({ options }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/step +1\//);
    child.kill("SIGINT");
    await printed(/cancelled/);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
  });

  it("with 130 when it is interrupted in the queue", async () => {
    const project = createTinyProject(tinySource({ options: ENDLESS }));
    const first = startKit(project, ["start"]);
    await first.printed(/step +1\//);
    const second = startKit(project, ["start"]);
    await second.printed(/^job /);
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["queued", "running"]);
    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(130);
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["cancelled", "running"]);
    first.child.kill("SIGINT");
    expect((await first.ended).code).toBe(130);
  });

  it("with 2 where there is no project", async () => {
    const project = createTinyProject();
    expect(await runKit(project, ["start", "--project", "none"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `kit: There is no folder ${join(project, "none")}. Check --project.\n`,
    });
    const source = join(project, "src");
    expect(await runKit(source, ["start"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `kit: There is no src/kit/index.ts in ${source}. Create a project with "kit init", or name another folder with --project.\n`,
    });
  });
});

describe("wrong input is one line without a stack, and exit code 1", () => {
  const kit = `import { createKit, createTrainer } from "kit";\n`;
  it.each<[string, string, RegExp]>([
    [
      "a syntax error",
      "const one = 1;\nconst two = ;\n",
      /^src\/kit\/index\.ts:2:13: Unexpected ";"$/,
    ],
    ["a file that is not there", `import "./none";`, /^src\/kit\/index\.ts:1:8: Could not resolve/],
    [
      "a package that is not there",
      `import "no-such-package-at-all";`,
      /^The package no-such-package-at-all is not installed\. Install it with: npm install no-such/,
    ],
    [
      "an import that throws",
      `interface Typed { a: string }\n\nexport const typed: Typed = { a: "a" };\nthrow new TypeError("no such thing");`,
      /^TypeError: no such thing \(src\/kit\/index\.ts:4:7\)$/,
    ],
    [
      "an import that throws no error",
      `throw "only text";`,
      /^The project's code threw 'only text'\. Throw an Error/,
    ],
    [
      "an import that throws later",
      `setTimeout(() => { throw new Error("later"); }); await new Promise(() => setInterval(() => {}, 1000));`,
      /^Error: later \(src\/kit\/index\.ts:1:26\)$/,
    ],
    [
      "an import that exits",
      `process.exit(0);`,
      /^src\/kit\/index\.ts ended the process \(exit code 0\) while it was loaded\. Remove/,
    ],
    [
      "an import that never returns",
      `await new Promise(() => {});`,
      /^src\/kit\/index\.ts never finished loading: a top-level await/,
    ],
    [
      "nothing exposed",
      `${kit}export default createKit({});`,
      /^No trainer in src\/kit\/index\.ts yet\. Add createTrainer\(\.\.\.\) and pass it to createKit\.$/,
    ],
    ["no createKit", `export default 1;`, /^No trainer in src\/kit\/index\.ts yet\./],
    [
      "a wrong option",
      `${kit}const dataset = { type: "jsonl", path: "data.jsonl" };\ncreateTrainer({ name: "a", dataset, maxSteps: -1 });`,
      /^createTrainer: "maxSteps" must be a whole number of at least 1, but is -1\. \(src\/kit\/index\.ts:3:1\)$/,
    ],
  ])("for %s", async (_, source, message) => {
    const { code, stdout, stderr } = await runKit(createTinyProject(source), ["start"]);
    expect(stderr).toMatch(/^kit: [^\n]+\n$/);
    expect(stderr.slice("kit: ".length, -1)).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  it.each<[string, string | null, RegExp]>([
    [
      "missing",
      null,
      /^failed: Cannot read the dataset \S+data\.jsonl: there is no such file\. Check dataset\.path/,
    ],
    ["empty", "", /^failed: \S+data\.jsonl has no rows: write one of .*$/],
    [
      "wrong in one line",
      '{"text":"a"}\n{"text":1}',
      /^failed: \S+data\.jsonl:2: "text" is not a text/,
    ],
  ])("for a dataset that is %s: the job has failed", async (_, data, message) => {
    const source = tinySource();
    const project = createTinyProject(
      data === null ? source.replace("data.jsonl", "none/data.jsonl") : source,
      data === null ? {} : { "data.jsonl": data },
    );
    const { code, stdout, stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr.slice(0, -1)).toMatch(message);
    expect(stdout).toMatch(/^job \S+ tiny\n$/);
    expect(code).toBe(1);
    expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
  });

  it("for a folder that cannot be written", async () => {
    const project = createTinyProject(undefined, { ".kit": "a file" });
    for (const command of ["build", "start"]) {
      const { code, stderr } = await runKit(project, [command]);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^kit: Cannot write \S+index\.mjs: ENOTDIR: .*\. Make the folder writable, or free disk space\.\n$/,
      );
    }
    const noJobs = createTinyProject(undefined, { ".kit/jobs": "a file" });
    const { code, stderr } = await runKit(noJobs, ["start"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^kit: Cannot create a job in \S+jobs: .*\. Make the folder writable.*\n$/,
    );
  });

  it("with the stack for DEBUG=kit", async () => {
    const project = createTinyProject(`throw new TypeError("no such thing");`);
    const { stderr } = await runKit(project, ["start"], { DEBUG: "kit" });
    expect(stderr).toMatch(/^kit: TypeError: no such thing/);
    expect(stderr).toContain("\n    at ");
    expect(stderr).toContain("src/kit/index.ts:1:7");
  });
});

describe("a job fails", () => {
  it("when a callback throws: exit code 1, its message and its place in the TypeScript, once", async () => {
    const options = "callbacks: { onCheckpoint: () => own({ room: 0 }) },";
    const before = 'import { own } from "./own";';
    const own = `interface Place {\n  room: number;\n}\n
export function own({ room }: Place): never {\n  throw new Error("no room left: " + room);\n}`;
    const project = createTinyProject(tinySource({ options, before }), { "src/kit/own.ts": own });
    expect(await runKit(project, ["start"])).toMatchObject({
      code: 1,
      stderr: "failed: no room left: 0\n  at src/kit/own.ts:6:9\n",
    });
    expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
    const { stderr } = await runKit(project, ["start"], { DEBUG: "kit" });
    expect(stderr).toMatch(/\n    at own \(\S*src\/kit\/own\.ts:6:9\)\n.*src\/kit\/index\.ts:/);
  });

  it("when a callback waits for what never comes", async () => {
    const options = `callbacks: { onLog: () => new Promise(() => {}) },`;
    const project = createTinyProject(tinySource({ options }));
    const { code, stderr } = await runKit(project, ["start"]);
    expect(stderr).toBe(
      "failed: onLog never returned. Look for a promise in it that does not settle.\n",
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

describe("kit build", () => {
  it("bundles the project's own code and leaves packages to be imported", async () => {
    const project = createTinyProject(
      `import { own } from "./own";\n${tinySource({ before: "export { own };" })}`,
      { "src/kit/own.ts": `export const own: string = "my own";` },
    );
    expect(await runKit(project, ["build"])).toEqual({
      code: 0,
      stdout: "built .kit/build/index.mjs\n",
      stderr: "",
    });
    const bundle = readFileSync(join(project, ".kit/build/index.mjs"), "utf8");
    expect(bundle).toContain("my own");
    expect(bundle).toMatch(
      /import \{ createKit, createTrainer \} from "file:\/\/\S+\/dist\/sdk\/index\.js"/,
    );
  });

  it("imports the kit that the project has installed", async () => {
    const project = createTinyProject(undefined, {
      "node_modules/kit/package.json": `{"name":"kit","bin":{"kit":"dist/cli/kit.js"}}`,
    });
    await runKit(project, ["build"]);
    const bundle = readFileSync(join(project, ".kit/build/index.mjs"), "utf8");
    expect(bundle).toContain(`from "kit"`);
  });

  it("leaves the last bundle when the next one fails", async () => {
    const project = createTinyProject();
    await runKit(project, ["build"]);
    writeFileSync(index(project), "const one = ;");
    expect((await runKit(project, ["build"])).code).toBe(1);
    expect(existsSync(join(project, ".kit/build/index.mjs"))).toBe(true);
  });
});
