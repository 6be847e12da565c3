import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { createTinyProject, runKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";

const index = (project: string) => join(project, "src/kit/index.ts");

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

test.each([
  ["@/lib/level", "@/*", "./src/*"],
  ["~/lib/level", "~/*", "./src/*"],
  ["$lib/level", "$lib/*", "./src/lib/*"],
  ["#lib/level", "#lib/*", "./src/lib/*"],
  ["#level", "#level", "./src/level"],
])(
  "an alias that tsconfig.json lacks is refused with the paths that make it work: %s",
  async (specifier, alias, target) => {
    const level = "export const level = 7;";
    const project = createProject({
      "src/kit/index.ts": `import { level } from "${specifier}"; console.log("level", level);`,
      "src/lib/level.ts": level,
      "src/level.ts": level,
    });
    const build = () => runKit(project, ["build"]);
    expect(await build()).toMatchObject({
      code: 1,
      stderr: `kit: src/kit/index.ts imports "${specifier}", which doesn't resolve to a file. Set "paths": { "${alias}": ["${target}"] } in the compilerOptions of tsconfig.json, or import it by its relative path.\n`,
    });
    const compilerOptions = { paths: { [alias]: [target] } };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    expect(await build()).toMatchObject({ code: 0, stderr: "" });
    expect((await runKit(project, ["start"])).stdout).toBe("level 7\n");
  },
);

test("an alias of package.json's imports works, and one that only types use is not refused", async () => {
  const project = createProject({
    "package.json": `{"imports":{"#level":"./src/level.ts"}}`,
    "src/kit/index.ts": `import { level } from "#level"; import type { Level } from "@/types";
const shown: Level = level; console.log("level", shown);`,
    "src/level.ts": "export const level = 7;",
  });
  expect((await runKit(project, ["start"])).stdout).toBe("level 7\n");
});

/** A project in a workspace, which links its packages as npm, pnpm and Yarn do. */
function createWorkspace(files: Record<string, string>): string {
  const project = createProject(files);
  const root = join(project, "app");
  for (const name of ["shared", "ui", "plain"]) {
    mkdirSync(join(root, "node_modules/@acme"), { recursive: true });
    symlinkSync(
      join(project, "packages", name),
      join(root, "node_modules/@acme", name),
      "junction",
    );
  }
  return root;
}

test("packages of the workspace in TypeScript are bundled, with what they import; others stay imports", async () => {
  const manifest = (name: string, entry: string) =>
    JSON.stringify({
      name: `@acme/${name}`,
      type: "module",
      exports: { ".": entry, "./*": "./src/*" },
    });
  const project = createWorkspace({
    "app/src/kit/index.ts": `import { level } from "@acme/shared";
import { view } from "@acme/shared/view.tsx";
import settings from "@acme/shared/settings.json";
import { plain } from "@acme/plain";
console.log("level", level, view, settings.name, plain);`,
    "packages/shared/package.json": manifest("shared", "./src/index.ts"),
    "packages/shared/src/index.ts": `import { dep } from "dep";
import { shown } from "@acme/ui";
import "./style.css";
export const level: string = dep + shown;`,
    "packages/shared/src/style.css": "body { color: red }",
    "packages/shared/src/view.tsx": `enum View { Chart = "chart" } export const view: View = View.Chart;`,
    "packages/shared/src/settings.json": `{"name":"mine"}`,
    "packages/shared/node_modules/dep/package.json": `{"name":"dep","main":"index.js"}`,
    "packages/shared/node_modules/dep/index.js": `exports.dep = "dep";`,
    "packages/ui/package.json": manifest("ui", "./src/index.mts"),
    "packages/ui/src/index.mts": `export const shown: string = "shown";`,
    "packages/plain/package.json": manifest("plain", "./index.js"),
    "packages/plain/index.js": `export const plain = import.meta.url.endsWith("plain/index.js");`,
  });
  mkdirSync(join(project, "../packages/shared/node_modules/@acme"));
  symlinkSync(
    join(project, "../packages/ui"),
    join(project, "../packages/shared/node_modules/@acme/ui"),
    "junction",
  );
  expect(await runKit(project, ["build"])).toMatchObject({ code: 0, stderr: "" });
  const { stdout, stderr } = await runKit(project, ["start"]);
  expect(stderr).not.toContain("Unknown file extension");
  expect(stdout).toBe("level depshown chart mine true\n");
});
