import { execFile } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { parseRow } from "../../engines/dataset/row.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { createJobStore } from "../../jobs/store.ts";
import { jsonl } from "../engines/embedded/scratch.ts";
import { startHub } from "../hub/server.ts";
import { CLI, TINY_DATA, createTinyProject, startKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { startServe } from "../serveCommand.ts";
import { typecheck } from "../types/compiler.ts";
import { type Snippet, ROOT, codeIn, readPage, rowsOf, snippetsOf } from "./snippets.ts";

const TEMPLATE = join(ROOT, "templates/quickstart");
const TRAINER = "src/kit/trainer.ts";
/** Questions and their answers. */
const PARQUET = join(ROOT, "tests/engines/dataset/tables/fixtures/snappy.parquet");
const TINY = { layers: 1, heads: 1, width: 8, context: 64 };
const TINY_SHAPE = dimensionsOf(TINY);

/** Pages whose trainers are trained, each in a project of its own; and pages that look at a job. */
const TRAINING_PAGES = [
  "../README.md",
  "trainer.md",
  "models.md",
  "data.md",
  "callbacks.md",
  "eval.md",
  "preferences.md",
];
const LOOKING_PAGES = [
  ...["artifacts.md", "ship.md", "serve.md", "cli.md"],
  ...["files.md", "page.md", "http.md"],
];
/** Its trainer needs a Python with torch: tests/engines/python trains by that engine. */
const TYPED_PAGES = [...TRAINING_PAGES, ...LOOKING_PAGES, "python.md"];
const RUN = ["ts", "js", "sh", "json", "jsonl", "csv"];
/** Where the trainer of data.md reads the table that it shows. */
const SHOWN_TABLE = "data/dates.csv";
/**
 * `text` and `mermaid` are pictures, a page in `html` is run by tests/quickstart.test.ts; the others need what
 * cannot be brought along.
 */
const NOT_RUN = ["text", "html", "mermaid", "python", "sql", "dockerfile", "yaml"];

function template(path: string): string {
  return readFileSync(join(TEMPLATE, path), "utf8");
}

/** The files of every project of these tests, besides its snippets. */
function addKit(project: string): string {
  mkdirSync(join(project, "node_modules"), { recursive: true });
  symlinkSync(ROOT, join(project, "node_modules/kit"));
  for (const name of ["@types", "openai", "ai", "@ai-sdk"]) {
    symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  }
  const npx = join(project, "node_modules/npx");
  writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${CLI}" "$@"\n`);
  chmodSync(npx, 0o755);
  return project;
}

/** The same trainer, of a size that trains in about a second. */
function shrink(source: string): string {
  return source
    .replace(/^ {2}model: ("kit|\{).*$/m, `  model: ${JSON.stringify(TINY)},`)
    .replace(/maxSteps: \d+/, "maxSteps: 4, saveSteps: 2, loggingSteps: 1")
    .replace(/batchSize: \d+/, "batchSize: 2")
    .replace("r: 8", "r: 2")
    .replace("loss < 0.01", "loss < Infinity");
}

/** A project in which snippets are put to use one after another. */
function createBench(project: string, page = addKit(project)) {
  const bin = join(page, "node_modules");
  let folder = project;
  let url = "";
  let serveUrl = "";

  const lastJob = () => createJobStore(folder).list()[0];
  /** The reader's own id, step and address in place of the page's. */
  const own = (text: string) =>
    text
      .replaceAll("<id>", lastJob()?.id ?? "<id>")
      .replaceAll("step-400", "step-4")
      .replaceAll("http://localhost:4747", url)
      .replaceAll("http://localhost:4748", serveUrl);

  async function shell(line: string): Promise<string> {
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    // Where a reader leaves it behind, its output is read here instead of from its file.
    const shown = line.replace(/ > \S+ 2>&1 &$/, "");
    const { stdout } = await promisify(execFile)("sh", ["-ec", shown], { cwd: folder, env });
    expect(stdout, line).not.toBe("");
    return stdout;
  }

  async function openUi(): Promise<void> {
    const { printed } = startKit(folder, ["ui", "--port", "0", "--no-open"]);
    url = /http:\/\/[^/\s]+/.exec(await printed(/http:\/\/\S+/))?.[0] ?? "";
  }

  async function openServe(): Promise<void> {
    const { url: served } = await startServe(folder);
    serveUrl = served;
  }

  async function runLine(line: string): Promise<void> {
    const [, into] = /^cd (.*)$/.exec(line) ?? [];
    if (into !== undefined) folder = join(folder, into);
    else if (line === "npx kit ui") await openUi();
    else if (line === "npx kit serve") await openServe();
    // npm's part is here already; tests/package.test.ts installs for real.
    else if (!line.startsWith("npm ")) await shell(own(line));
  }

  return {
    lastJob,
    openUi,
    /** @param rowsFile where rows go that are not right answers */
    async use({ language, path, code }: Snippet, rowsFile?: string): Promise<void> {
      if (path !== undefined) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), shrink(own(code)));
        if (path !== TRAINER) return;
        // Stopping early exits with 130.
        expect(await shell("npx kit start src/kit/index.ts || test $? = 130")).toContain("job ");
      } else if (language === "sh") {
        for (const line of code.trim().split("\n")) await runLine(line);
      } else if (language === "csv" || rowsFile !== undefined) {
        writeFileSync(join(folder, rowsFile ?? SHOWN_TABLE), code);
      } else if (language === "jsonl") {
        for (const line of code.trim().split("\n")) parseRow(JSON.parse(line), "snippet");
      } else if (language === "json") {
        JSON.parse(code);
      }
    },
  };
}

test("each snippet is of a kind that is run, and programs say which file they are", () => {
  for (const page of [...TYPED_PAGES, "README.md", "how-it-works.md"]) {
    for (const { language, path, code } of snippetsOf(readPage(page))) {
      expect([...RUN, ...NOT_RUN], page).toContain(language);
      if (["ts", "js", "python"].includes(language)) expect(path, `${page}: ${code}`).toBeDefined();
    }
  }
});

test("the pages' TypeScript type-checks", () => {
  const project = addKit(createProject({ "tsconfig.json": template("tsconfig.json") }));
  const snippets = TYPED_PAGES.flatMap((page) => snippetsOf(readPage(page))).filter(
    ({ language }) => language === "ts",
  );
  expect(snippets.length).toBeGreaterThan(4);
  for (const [n, { path = "", code }] of snippets.entries()) {
    const target = join(project, "src", String(n), path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(join(dirname(target), "trainer.ts"), snippets[0]?.code ?? "");
    writeFileSync(target, code);
  }
  expect(typecheck(project)).toBe("");
});

test.each(TRAINING_PAGES)("what %s shows is trained", async (page) => {
  const rows = (file: string) => template(file).split("\n").slice(0, 6).join("\n");
  const project = createProject({
    "src/kit/index.ts": template("src/kit/index.ts"),
    [TRAINER]: shrink(snippetsOf(readPage("trainer.md"))[1]?.code ?? ""),
    "data/train.jsonl": rows("data/train.jsonl"),
    "data/heldout.jsonl": rows("data/heldout.jsonl"),
    "data/tickets.jsonl": jsonl([{ subject: "It is slow", reply: "Restart it." }, { reply: "" }]),
  });
  const bench = createBench(project);
  await serveHub();
  const snippets = snippetsOf(readPage(page));
  for (const [i, snippet] of snippets.entries()) {
    const [, next] = /path: "(data\/\w+\.jsonl)"/.exec(snippets[i + 1]?.code ?? "") ?? [];
    await bench.use(snippet, page === "preferences.md" ? next : undefined);
  }
  expect(bench.lastJob()?.status).toBe("completed");
});

test("the other pages' snippets do what the pages say", async () => {
  const project = createTinyProject(undefined, { "data/heldout.jsonl": TINY_DATA });
  const bench = createBench(project);
  await bench.use({ language: "sh", code: "npx kit start" });
  await bench.openUi();
  for (const page of LOOKING_PAGES) {
    for (const snippet of snippetsOf(readPage(page))) await bench.use(snippet);
  }

  const artifact = join(project, ".kit/jobs", bench.lastJob()?.id ?? "", "artifacts/step-4");
  const rows = rowsOf(readPage("artifacts.md"), "# Use the trained model");
  const named = rows.flatMap(([files]) => codeIn(files));
  expect(named.toSorted()).toEqual(readdirSync(artifact).toSorted());
  const config = JSON.parse(readFileSync(join(artifact, "config.json"), "utf8")) as object;
  expect(config).toMatchObject({ architectures: ["LlamaForCausalLM"] });

  const tree = snippetsOf(readPage("files.md")).find(({ language }) => language === "text");
  const patterns = (tree?.code.trim().split("\n") ?? []).map((line) => {
    const [path = ""] = line.split(/ {2,}/);
    return new RegExp(`^${path.replace(/<\w+>/g, "[^/]+").replace(/\/$/, "/.*")}$`);
  });
  const files = readdirSync(join(project, ".kit"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(project.length + 1));
  for (const file of files)
    expect(
      patterns.some((pattern) => pattern.test(file)),
      file,
    ).toBe(true);
  // Only a job of other machines has them: tests/cli/attach.test.ts, tests/engines/ray.
  const job = ".kit/jobs/<id>";
  const elsewhere = [`${job}/placement.json`, `${job}/artifacts/step-4.stored.json`];
  // And of a dataset that is frozen, and of preferences: tests/sdk/datasets.test.ts, objectives.test.ts.
  elsewhere.push(
    `${job}/data.jsonl`,
    `${job}/reference.json`,
    ".kit/answers/0123456789abcdef.ndjson",
    // And of a job with reportTo: tests/jobs/tensorboard/.
    `${job}/tensorboard/events.out.tfevents.1.1.kit`,
    // And of kit serve --fine-tuning: tests/server/serve/fineTuning/.
    ".kit/files/file-0/content",
    `${job}/trainer.json`,
    `${job}/output.log`,
  );
  for (const pattern of patterns)
    expect(
      [...elsewhere, ...files].some((file) => pattern.test(file)),
      String(pattern),
    ).toBe(true);
});

/** A hub that has the models of models.md and data.md, and the dataset of data.md, for the commands of this test. */
async function serveHub(): Promise<void> {
  const files = createProject();
  const weights = randomWeights(TINY_SHAPE, 1);
  saveModel(join(files, "model"), weights, { shape: TINY_SHAPE, promptStyle: "message" });
  const hub = await startHub({
    "HuggingFaceTB/SmolLM2-135M-Instruct": { files: join(files, "model") },
  });
  const rows = readFileSync(PARQUET);
  const splits = { "main/train/0000.parquet": rows, "socratic/train/0000.parquet": rows };
  hub.commit("datasets/openai/gsm8k", splits, "refs/convert/parquet");
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  vi.stubEnv("HF_HOME", files);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await hub.close();
  });
}

test("the log's line in files.md is one of its events", () => {
  const [{ code = "" } = {}] = snippetsOf(readPage("files.md")).filter(
    ({ language }) => language === "json",
  );
  expect(Object.keys(JSON.parse(code) as object)).toEqual(["event", "time", "data"]);
});
