import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listFiles } from "../../disk/listFiles.ts";
import { runKit } from "../kit.ts";
import { createProject } from "../project.ts";

function read(project: string, file: string): string {
  return readFileSync(join(project, file), "utf8");
}

async function initIn(project: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKit(project, ["init", ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

it("adds what is missing, overwrites nothing and says both", async () => {
  const mine = {
    "src/kit/index.ts": "// mine\n",
    "tsconfig.json": "{}\n",
    "data/train.jsonl": "mine\n",
  };
  const manifest = { name: "mine", scripts: { build: "vite build" } };
  const project = createProject({
    ...mine,
    "package.json": `${JSON.stringify(manifest, null, 4)}\n`,
    ".gitignore": "/node_modules",
  });
  symlinkSync("/none/such", join(project, "README.md"));
  const stdout = await initIn(project);
  for (const [path, content] of Object.entries(mine)) expect(read(project, path)).toBe(content);
  expect(lstatSync(join(project, "README.md")).isSymbolicLink()).toBe(true);
  expect(read(project, ".gitignore")).toBe("/node_modules\n.kit/\n");
  expect(existsSync(join(project, "src/kit/trainer.ts"))).toBe(true);

  const listOf = (what: string) =>
    new RegExp(`^${what}: (.*)$`, "m")
      .exec(stdout)?.[1]
      ?.split(/, (?![^(]*\))/)
      .sort();
  expect(listOf("added to")).toEqual([
    ".gitignore (.kit/)",
    "package.json (scripts.ui, scripts.train, dependencies.kit, devDependencies.@types/node, allowScripts.esbuild, allowScripts.webgpu)",
  ]);
  expect(listOf("left alone")).toEqual([
    "README.md",
    "data/train.jsonl",
    "package.json (scripts.build)",
    "src/kit/index.ts",
    "tsconfig.json (no typecheck script added)",
  ]);
  expect(listOf("created")).toEqual([
    "AGENTS.md",
    "data/generate.mjs",
    "data/heldout.jsonl",
    "src/kit/trainer.ts",
  ]);
  expect(stdout.split("\n")[0]).toBe(`added Kit to ${project}`);
});

it.each([
  ["a new project", {}, "\n"],
  ["one that was there", { "package.json": `{"name":"mine"}` }, "\n"],
  ["one that git checked out on Windows", { "pnpm-workspace.yaml": "" }, "\r\n"],
])("changes nothing the second time, and says so: %s", async (_, existing, lineEnd) => {
  const project = createProject(existing);
  await initIn(project);
  for (const path of listFiles(project)) {
    writeFileSync(join(project, path), read(project, path).replaceAll("\n", lineEnd));
  }
  const files = ["package.json", ".gitignore"];
  const before = files.map((file) => read(project, file));
  const stdout = await initIn(project);
  expect(files.map((file) => read(project, file))).toEqual(before);
  expect(stdout).toMatch(`nothing to add to ${project}\nnext: `);
});

it("says in its README how to train where the script of that name is another's", async () => {
  const manifest = JSON.stringify({ scripts: { build: "vite build", train: "kit start" } });
  const project = createProject({ "package.json": manifest });
  await initIn(project);
  const readme = read(project, "README.md");
  expect(readme).toContain("`npx --no kit build && npx --no kit start` builds by itself");
  expect(readme).toContain("npm run ui");
  expect(readme).not.toContain("npm run train");
});

it.each([
  ["four spaces", JSON.stringify({ name: "a", files: ["b"] }, null, 4), `\n    "scripts": {\n`],
  ["tabs", `${JSON.stringify({ name: "a" }, null, "\t")}\n`, `\n\t"scripts": {\n\t\t"ui"`],
  ["CRLF", `{\r\n  "name": "a"\r\n}\r\n`, `\r\n  "scripts": {\r\n`],
  ["one line", `{"name":"a"}`, `{"name":"a","scripts":{"ui":`],
])("keeps the format of a package.json: %s", async (_, text, expected) => {
  const project = createProject({ "package.json": text });
  await initIn(project);
  const written = read(project, "package.json");
  expect(written).toContain(expected);
  expect(/\s*$/.exec(written)?.[0]).toBe(/\s*$/.exec(text)?.[0]);
  expect(written.includes("\r\n")).toBe(text.includes("\r\n"));
  expect(JSON.parse(written)).toMatchObject(JSON.parse(text) as object);
});

it("takes a dependency of either kind for one that is there", async () => {
  const manifest = { devDependencies: { kit: "^2.0.0" }, dependencies: { typescript: "^5.9.0" } };
  const project = createProject({ "package.json": JSON.stringify(manifest) });
  const stdout = await initIn(project);
  expect(JSON.parse(read(project, "package.json"))).toMatchObject({
    dependencies: { typescript: "^5.9.0" },
    devDependencies: { kit: "^2.0.0", "@types/node": expect.any(String) },
  });
  expect(stdout).toContain(
    "left alone: package.json (dependencies.kit, devDependencies.typescript)",
  );
});

it.each([`{"name": `, `{\n  // mine\n  "name": "a"\n}`, "[]", `{"scripts":[]}`, ""])(
  "writes nothing beside a package.json that is none: %j",
  async (text) => {
    const project = createProject({ "package.json": text });
    expect(await runKit(project, ["init"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `kit: npm cannot read ${project}/package.json. Fix the file, then run kit init again.\n`,
    });
    expect(readdirSync(project)).toEqual(["package.json"]);
    expect(read(project, "package.json")).toBe(text);
  },
);

it("leaves alone a folder where it would write a file", async () => {
  const project = createProject();
  for (const name of [".gitignore", "README.md"]) mkdirSync(join(project, name));
  expect(await initIn(project)).toContain("left alone: ");
});

it("keeps the name, and says so when --name asks for another", async () => {
  const project = createProject({ "package.json": `{"name":"mine"}` });
  expect(await initIn(project, "--name", "other")).toContain("left alone: package.json (name)");
  expect(JSON.parse(read(project, "package.json"))).toMatchObject({ name: "mine" });
});

it("edits the file that a symbolic link names", async () => {
  const project = createProject({ "real.json": `{"name":"mine"}` });
  symlinkSync("real.json", join(project, "package.json"));
  await initIn(project);
  expect(lstatSync(join(project, "package.json")).isSymbolicLink()).toBe(true);
  expect(JSON.parse(read(project, "real.json"))).toMatchObject({ scripts: { ui: "kit ui" } });
});

it("writes through a link to a folder, its own or one in it", async () => {
  const project = createProject({ "real/a.txt": "", "elsewhere/b.txt": "" });
  symlinkSync("real", join(project, "link"));
  symlinkSync("../elsewhere", join(project, "real", "data"));
  await initIn(project, "link");
  expect(existsSync(join(project, "real", "package.json"))).toBe(true);
  expect(existsSync(join(project, "elsewhere", "train.jsonl"))).toBe(true);
});
