import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
      stderr: `kit: src/kit/index.ts imports "${specifier}", which leads to no file. Set "paths": { "${alias}": ["${target}"] } in the compilerOptions of tsconfig.json, or import it by its relative path.\n`,
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
