import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

function jobsOf(project: string) {
  return createJobStore(project).list();
}

const TRAINER = `const trainer = createTrainer({ name: "a", dataset: { type: "jsonl", path: "data.jsonl" } });\n`;

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
    [
      "a function that is not called",
      `import { createTrainer } from "kit";\nexport default createTrainer;`,
      /^src\/kit\/index\.ts exports the function createTrainer, which nothing calls\. Write export default createKit/,
    ],
    ["no createKit", `export default 1;`, /^No trainer in src\/kit\/index\.ts yet\./],
    [
      "a trainer that is exported by itself",
      `${kit}${TRAINER}export default trainer;`,
      /^src\/kit\/index\.ts exports a trainer without createKit\. Write export default createKit\(\{ trainer \}\)\.$/,
    ],
    [
      "a trainer that is exported beside nothing else",
      `${kit}${TRAINER}export { trainer };`,
      /^src\/kit\/index\.ts exports a trainer without createKit\./,
    ],
    [
      "a forgotten export",
      `${kit}${TRAINER}createKit({ trainer });`,
      /^src\/kit\/index\.ts exports nothing\. Write export default createKit\(\{ trainer \}\)\.$/,
    ],
    [
      "require",
      `const { createKit } = require("kit");\nexport default createKit({});`,
      /^require\("kit"\) does not work here, .*\. Write import \{ createKit, createTrainer \} from "kit" instead\. \(src\/kit\/index\.ts:1:23\)$/,
    ],
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

  it.each([
    ["of the one beside it", `import { createTrainer } from "kit";\nconst trainer = 1;`],
    ["of a file with nothing in it", ""],
  ])("for a forgotten export %s", async (_, trainer) => {
    const index = `import { createKit } from "kit";\nimport { trainer } from "./trainer";\nexport default createKit({ trainer });`;
    const project = createTinyProject(index, { "src/kit/trainer.ts": trainer });
    const { code, stderr } = await runKit(project, ["start"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^kit: createKit: "trainer" is undefined\. Export it from the file that creates it, .*\(src\/kit\/index\.ts:3:\d+\)\n$/,
    );
  });

  it.each([
    ["nothing exposed", "export default 1;", 1, "No trainer in src/kit/long.ts yet."],
    ["an exit", "process.exit(0);", 1, "src/kit/long.ts ended the process (exit code 0)"],
    ["a stuck await", "await new Promise(() => {});", 1, "src/kit/long.ts never finished loading"],
    ["no file", null, 2, "There is no src/kit/long.ts in "],
  ])("of the entry that was named: %s", async (_, source, exit, sentence) => {
    const files = source === null ? undefined : { "src/kit/long.ts": source };
    const project = createTinyProject(undefined, files);
    const { code, stderr } = await runKit(project, ["start", "src/kit/long.ts"]);
    expect(stderr.slice(0, `kit: ${sentence}`.length)).toBe(`kit: ${sentence}`);
    expect(stderr).not.toMatch(/index\.ts|kit init/);
    expect(code).toBe(exit);
  });

  it.each<[string, string | null, RegExp]>([
    [
      "missing",
      null,
      /^failed: Cannot read the dataset \S+data\.jsonl: there is no such file\. Check its path\./,
    ],
    ["empty", "", /^failed: \S+data\.jsonl has no rows\. Write one of .*$/],
    [
      "wrong in one line",
      '{"text":"a"}\n{"text":1}',
      /^failed: \S+data\.jsonl:2: "text" is not a string/,
    ],
    [
      "CSV",
      "prompt,completion\n7th of March 1998,1998-03-07\n",
      /^failed: \S+data\.jsonl:1: the file is CSV: name it \.csv and leave out its type, or set the type to "csv"\. Write one of \{"messages":.*\{"prompt":"…","completion":"…"\} or \{"text":"…"\}\.$/,
    ],
    [
      "without an answer in any row",
      '{"prompt":"1","completion":""}\n{"messages":[{"role":"user","content":"2"},{"role":"assistant","content":" "}]}',
      /^failed: Every row of \S+data\.jsonl has an empty answer or text\. Write one of /,
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

  it.each([
    ["data/trian.jsonl", "train.jsonl"],
    ["data/Train.jsonl", "train.jsonl"],
    ["data/train.json", "train.jsonl"],
    ["data/train", "train.jsonl"],
    ["date/train.jsonl", "data/train.jsonl"],
    ["train.jsonl", "data/train.jsonl"],
    ["data/heldout.jsonl", undefined],
    ["data/q.jsonl", undefined],
  ])("a path that is not there names the one that was meant: %s", async (path, meant) => {
    const project = createTinyProject(tinySource().replace("data.jsonl", path), {
      "data/train.jsonl": '{"text":"a"}',
      "data/b.jsonl": '{"text":"a"}',
    });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(/there is no such file\./);
    expect(/Did you mean "(.*)"\?/.exec(stderr)?.[1]).toBe(meant);
  });

  it.each([
    ["lora: { rank: 8 },", '"lora.rank". Did you mean "r"? "lora" takes'],
    ["lora: { aplha: 8 },", '"lora.aplha". Did you mean "alpha"? "lora" takes'],
    ["lora: { target_modules: [] },", '"lora.target_modules". Did you mean "targetModules"?'],
    ["evaluate: { metrics: { a: () => 1 }, max_new_tokens: 3 },", 'Did you mean "maxTokens"?'],
    ["callbacks: { onEnd() {} },", '"callbacks.onEnd". Did you mean "onCompleted"?'],
    ["epochs: 3,", '"epochs". Did you mean "numTrainEpochs"? It takes'],
    ["lr: 1e-4,", '"lr". Did you mean "learningRate"? It takes'],
    [
      'evalDataset: { path: "data.jsonl", columns: { promt: "q" } },',
      '"evalDataset.columns.promt". Did you mean "prompt"? "evalDataset.columns" takes messages,',
    ],
  ])("an unknown option names the one that was meant: %s", async (options, sentence) => {
    const { code, stderr } = await runKit(createTinyProject(tinySource({ options })), ["start"]);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
  });

  it("for a folder that cannot be written", async () => {
    const project = createTinyProject(undefined, { ".kit": "a file" });
    for (const command of ["build", "start"]) {
      const { code, stderr } = await runKit(project, [command]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^kit: Cannot write \S+index\.mjs: ENOTDIR: .*\n$/);
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
