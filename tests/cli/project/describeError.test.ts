import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ENDLESS, createTinyProject, runKit, tinySource } from "../../kit.ts";
import { ROOT } from "../../packed.ts";
import { createProject } from "../../project.ts";

test.each([
  ["throw null", "The project's code threw null. Throw an Error, which has a stack."],
  [`throw "text"`, "The project's code threw 'text'. Throw an Error, which has a stack."],
  [`throw new Error()`, "Error: an error without a message (src/kit/index.ts:1:7)"],
  [
    `import x from "not-there"; x();`,
    "The package not-there is not installed. Install it with: npm install not-there",
  ],
  [
    `throw Object.assign(new Error("Yarn's"), { pnpCode: "UNDECLARED_DEPENDENCY", data: { dependencyName: "not-there" } });`,
    "The package not-there is not installed. Install it with: npm install not-there",
  ],
  [
    `import { nope } from "kit"; nope();`,
    "There is no nope in kit. It has KitError, createKit, createTrainer, loadModel.",
  ],
  [
    `import { exactmatch } from "kit/metrics"; exactmatch();`,
    'There is no exactmatch in kit/metrics. Did you mean "exactMatch"? It has exactMatch, jsonFields, labels, validJson.',
  ],
  [
    `import { exactMatch } from "kit/metric"; exactMatch();`,
    'src/kit/index.ts:1:28: There is no "kit/metric". Did you mean "kit/metrics"? Kit has kit, kit/engines, kit/metrics.',
  ],
  [
    `Promise.reject(new Error("later")); await new Promise(() => setTimeout(() => {}, 60_000));`,
    "Error: later (src/kit/index.ts:1:16)",
  ],
  [
    `Promise.reject("later"); await new Promise(() => setTimeout(() => {}, 60_000));`,
    "The project's code threw 'later'. Throw an Error, which has a stack.",
  ],
])(
  "an error that a project throws while it is loaded is one clear sentence: %s",
  async (code, sentence) => {
    const project = createProject({ "src/kit/index.ts": code });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toBe(`kit: ${sentence}\n`);
  },
);

test("a place is found whatever the project's folder is called", async () => {
  const parent = createProject({
    "my app (copy)/src/kit/index.ts": `new (class A { constructor() { throw new Error("no"); } })();`,
    "my app (copy)/src/kit/plain.ts": `await 0; throw new Error("no");`,
  });
  const project = join(parent, "my app (copy)");
  const inCall = await runKit(project, ["start"]);
  expect(inCall.stderr).toBe("kit: Error: no (src/kit/index.ts:1:38)\n");
  const atTop = await runKit(project, ["start", "src/kit/plain.ts"]);
  expect(atTop.stderr).toBe("kit: Error: no (src/kit/plain.ts:1:16)\n");
});

test.each([
  ["throw undefined", "onLog() { throw undefined; }", "undefined"],
  ["a rejection", `onLog: () => Promise.reject({ status: 500 })`, "{ status: 500 }"],
  ["a rejection aside", `onLog() { void Promise.reject("text"); }`, "'text'"],
  ["a throw aside", `onLog() { setTimeout(() => { throw undefined; }); }`, "undefined"],
])(
  "what is thrown in a run and is no error is told as while loading: %s",
  async (_, callback, what) => {
    const options = `${ENDLESS} callbacks: { ${callback} },`;
    const { code, stderr } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
    const told = `failed: The project's code threw ${what}. Throw an Error, which has a stack.\n`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: told });
  },
);

test.each([
  [
    "infer",
    "infer({ prompt: `1`, temperature: -1 })",
    "infer: temperature must be a number of at least 0.",
  ],
  [
    "infer, later",
    "new Promise((go) => setTimeout(go)).then(() => infer({ prompt: `1`, maxTokens: 0 }))",
    "infer: maxTokens must be a whole number of at least 1.",
  ],
  [
    "infer, on its thread",
    "infer({ prompt: `1`.repeat(99) })",
    "The prompt is too long: its 103 tokens leave no room for an answer, and this model's maximum context length is 32 tokens. Shorten it.",
  ],
  [
    "loadModel",
    "loadModel(`nowhere`)",
    /^There is no \S+\/nowhere\/config\.json\. Pass the directory of a model or a checkpoint\.$/,
  ],
])(
  "what Kit refuses in a callback is placed where it was called: %s",
  async (_, call, sentence) => {
    const before = `import { loadModel } from "kit"; void loadModel;`;
    const options = `maxSteps: 1, callbacks: { onCheckpoint: async ({ infer }) => {
      void infer;
      await ${call};
    } },`;
    const source = tinySource({ before, options });
    const { code, stderr } = await runKit(createTinyProject(source), ["start"]);
    const [failed = "", checkpoint, place] = stderr.split("\n");
    expect(code).toBe(1);
    expect(failed.replace("failed: ", "")).toEqual(
      typeof sentence === "string" ? sentence : expect.stringMatching(sentence),
    );
    expect(checkpoint).toMatch(/^ {2}checkpoint /);
    const line = source.split("\n").findIndex((text) => text.includes(call)) + 1;
    expect(place).toMatch(new RegExp(`^  at src/kit/index\\.ts:${line}:\\d+$`));
  },
);

test("a program that does not catch an error of Kit's sees its own line, and none of Kit's", async () => {
  const project = createProject({
    "ask.mjs": `import { loadModel } from "kit";

async function ask() {
  await new Promise((go) => setTimeout(go));
  await loadModel("nowhere");
}
await ask();
`,
  });
  mkdirSync(join(project, "node_modules"));
  symlinkSync(ROOT, join(project, "node_modules/kit"));
  const run = promisify(execFile)(process.execPath, ["ask.mjs"], { cwd: project });
  const { stderr } = (await run.catch((error: unknown) => error)) as { stderr: string };
  const at = stderr.split("\n").filter((line) => /^\s+at /.test(line));
  expect(stderr).toContain("There is no ");
  expect(at[0]).toMatch(/at ask \(file:\S+\/ask\.mjs:5:9\)$/);
  expect(stderr).not.toMatch(/\/dist\//);
  expect(stderr.trim().split("\n").length).toBeLessThan(16);
});

test("a rejection that the project's code listens for does not end its job", async () => {
  const before = `process.on("unhandledRejection", (reason) => console.log("seen", reason));`;
  const options = `callbacks: { onStarted() { void Promise.reject("text"); } },`;
  const { code, stdout } = await runKit(createTinyProject(tinySource({ before, options })), [
    "start",
  ]);
  expect(code).toBe(0);
  expect(stdout).toContain("\nseen text\n");
});

test.each([
  ["onFailed", `onStarted() { throw new Error("first"); },`, 1],
  ["onCancelled", `onStarted() { process.kill(process.pid, "SIGINT"); },`, 130],
])("what the last callback throws is told in one line: %s", async (name, end, exit) => {
  const options = `${ENDLESS} callbacks: { ${end} ${name}() { throw new TypeError("second"); } },`;
  const { code, stderr } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
  expect(code).toBe(exit);
  const line = new RegExp(`^kit: ${name} failed: second \\(src/kit/index\\.ts:\\d+:\\d+\\)$`, "m");
  expect(stderr).toMatch(line);
});

test("a bundle of a Kit that has moved says to build again", async () => {
  const code = `import "file:///nowhere/kit/dist/sdk/index.js";`;
  const project = createProject({ "src/kit/index.ts": "", ".kit/build/index.mjs": code });
  const { code: exit, stderr } = await runKit(project, ["start"]);
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^kit: The bundle was built by a Kit that has moved .* Run kit build,/);
});

test.each([
  ["npm install", { "package-lock.json": "{}" }],
  ["pnpm add", { "pnpm-lock.yaml": "" }],
  ["yarn add", { "package.json": `{"packageManager":"yarn@4.1.0"}` }],
  ["bun add", { "bun.lock": "" }],
])(
  "a package that is missing is installed by the project's own manager: %s",
  async (words, files) => {
    const project = createProject({ "src/kit/index.ts": `import "@a/b/c.js";`, ...files });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toBe(`kit: The package @a/b is not installed. Install it with: ${words} @a/b\n`);
  },
);
