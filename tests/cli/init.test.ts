import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { typecheck as typecheckProject } from "../types/compiler.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TEMPLATE = join(ROOT, "templates", "quickstart");

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

function nameOf(project: string): string {
  return (JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { name: string }).name;
}

/** TypeScript's own defaults for a new project. */
const NODENEXT = {
  module: "nodenext",
  target: "esnext",
  types: [] as string[],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  noUncheckedSideEffectImports: true,
  moduleDetection: "force",
  skipLibCheck: true,
};

/** As if the project's packages were installed. */
function typecheck(project: string): string {
  for (const name of ["kit", "@types/node"]) {
    const link = join(project, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(name === "kit" ? ROOT : join(ROOT, "node_modules", name), link);
  }
  return typecheckProject(project);
}

describe("kit init", () => {
  it.each(["quickstart", "finetune"])(
    "writes AGENTS.md into a %s, short, with commands and pages that there are",
    async (template) => {
      const project = createProject();
      await runKit(project, ["init", "--template", template]);
      const page = readFileSync(join(project, "AGENTS.md"), "utf8");
      expect(page.split("\n").length).toBeLessThanOrEqual(60);
      for (const [, name = ""] of page.matchAll(/`(?:node_modules\/kit\/docs\/)?([\w-]+\.md)`/g)) {
        expect(readdirSync(join(ROOT, "docs"))).toContain(name);
      }
      const commands = [...page.matchAll(/npx kit (\w+)([^`#&\n]*)/g)];
      expect(commands.length).toBeGreaterThan(9);
      for (const [, command = "", words = ""] of commands) {
        const { code, stdout } = await runKit("/", [command, "--help"]);
        expect(code, command).toBe(0);
        for (const option of words.match(/--[a-z-]+/g) ?? []) expect(stdout).toContain(option);
      }
    },
  );

  it("writes every file of the quickstart and prints the next step", async () => {
    const folder = createProject();
    const { code, stdout, stderr } = await runKit(folder, ["init", "dates"]);
    const project = join(folder, "dates");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      `created a Kit project in ${project}\nnext: cd dates && npm install && npm run ui\n`,
    );
    const expected = filesOf(TEMPLATE).map((file) => (file === "gitignore" ? ".gitignore" : file));
    expect(filesOf(project)).toEqual(expected.sort());
    expect(readFileSync(join(project, ".gitignore"), "utf8")).toBe("node_modules/\n.kit/\n");
    expect(nameOf(project)).toBe("dates");
  });

  it("needs no cd in the current folder, and an absolute one outside of it", async () => {
    const folder = createProject({ "a/b.txt": "" });
    const here = await runKit(folder, ["init"]);
    expect(here.stdout).toContain("\nnext: npm install && npm run ui\n");
    const outside = await runKit(join(folder, "a"), ["init", "../my app"]);
    expect(outside.stdout).toContain(
      `\nnext: cd '${folder}/my app' && npm install && npm run ui\n`,
    );
  });

  it.each([
    ["My Model!", "my-model"],
    [".hidden", "hidden"],
    ["日本", "kit-project"],
    ["kit", "kit-project"],
    ["a_b.c", "a_b.c"],
  ])("names the package in a folder %j %s", async (folder, name) => {
    const project = createProject();
    expect((await runKit(project, ["init", folder])).code).toBe(0);
    expect(nameOf(join(project, folder))).toBe(name);
  });

  it("takes a name, and refuses one that npm would not install", async () => {
    const project = createProject();
    await runKit(project, ["init", "a", "--name", "@me/dates"]);
    expect(nameOf(join(project, "a"))).toBe("@me/dates");
    for (const name of ["My Model", "kit", "node_modules", "", "../x"]) {
      const { code, stderr } = await runKit(project, ["init", "b", "--name", name]);
      expect(code).toBe(2);
      expect(stderr).toBe(
        `kit: npm does not allow ${JSON.stringify(name)} as a package name. Use lowercase letters, digits, dots, dashes or underscores, but not the name kit or node_modules.\n`,
      );
    }
    expect(readdirSync(project)).toEqual(["a"]);
  });

  it("makes files that their owner may edit", async () => {
    const project = createProject();
    await runKit(project, ["init"]);
    for (const file of filesOf(project)) {
      expect(statSync(join(project, file)).mode & 0o600).toBe(0o600);
    }
  });

  it("says in one line where it cannot write", async () => {
    const project = createProject({ taken: "a file" });
    const { code, stdout, stderr } = await runKit(project, ["init", "taken"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`kit: ${join(project, "taken")} is a file. Name a folder instead.\n`);
    symlinkSync("nowhere", join(project, "dangling"));
    const dangling = await runKit(project, ["init", "dangling"]);
    expect(dangling).toMatchObject({ code: 1, stdout: "" });
    expect(dangling.stderr).toMatch(/^kit: \S+dangling is a symbolic link, .*[^.]\.\n$/);
  });

  it.each([[[]], [["--template", "finetune"]]])(
    "makes a project that type-checks against kit's own types %j",
    async (args) => {
      const project = createProject();
      await runKit(project, ["init", ...args]);
      expect(typecheck(project)).toBe("");
    },
  );

  it.each([
    ["what tsc --init writes", NODENEXT],
    ["with the types of Node", { ...NODENEXT, types: ["node"] }],
    ["of a bundler", { ...NODENEXT, module: "esnext", moduleResolution: "bundler", noEmit: true }],
  ])("makes files that type-check by settings that were there: %s", async (_, compilerOptions) => {
    const project = createProject({
      "package.json": `{"type":"module"}`,
      "tsconfig.json": JSON.stringify({ compilerOptions }),
    });
    await runKit(project, ["init"]);
    expect(typecheck(project)).toBe("");
    expect(await runKit(project, ["build"])).toMatchObject({ code: 0, stderr: "" });
    const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(Object.keys(scripts)).toEqual(["ui", "train", "build"]);
  });

  it("depends on the Kit that made it, not on another package of that name", async () => {
    const project = createProject();
    await runKit(project, ["init"]);
    const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
      dependencies: { kit: string };
    };
    const [, folder = ""] = /^file:(.*)/.exec(manifest.dependencies.kit) ?? [];
    expect(resolve(project, folder)).toBe(resolve(ROOT));
  });

  it("says so, and ends, where the system refuses every folder", async () => {
    const { code, stderr } = await runKit(createProject(), ["init", "/proc/kit"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kit: .*\/proc\/kit: /);
  });

  it("writes package.json last, so that an interrupted copy is seen", async () => {
    const project = createProject({ src: "a file in the way of a folder" });
    expect((await runKit(project, ["init"])).code).toBe(1);
    expect(existsSync(join(project, "package.json"))).toBe(false);
  });
});
