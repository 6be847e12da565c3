import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

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
