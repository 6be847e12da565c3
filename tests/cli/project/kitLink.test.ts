import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";
import { ROOT } from "../../packed.ts";
import { createProject } from "../../project.ts";

/** A package that only an import finds, with a subpath. */
const PACKAGE = {
  "node_modules/dep/package.json": `{"name":"dep","type":"module","exports":{".":{"import":"./a.js"},"./sub":{"import":"./b.js"}}}`,
  "node_modules/dep/a.js": `export const a = "dep found";`,
  "node_modules/dep/b.js": `export const b = "subpath found";`,
};

const BEFORE = `import { a } from "dep";
import { b } from "dep/sub";
import { own } from "@/own";
import { basename } from "node:path";
const name = "dep/sub";
const { b: later } = await import(name);
console.log(basename(a), b, own, later);`;

test(".kit may be a link to a folder on another disk, where no package is found", async () => {
  const project = createTinyProject(tinySource({ before: BEFORE }), {
    ...PACKAGE,
    "tsconfig.json": `{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}`,
    "src/own.ts": `export const own = "alias found";`,
  });
  symlinkSync(ROOT, join(project, "node_modules/kit"));
  const disk = createProject();
  mkdirSync(join(disk, "first"));
  symlinkSync(join(disk, "first"), join(project, ".kit"));
  const said = "dep found subpath found alias found subpath found";
  const printed = /^completed /m;

  const { stdout, stderr } = await runKit(project, ["start"]);
  expect(stderr).toBe("");
  expect(stdout).toContain(said);
  expect(stdout).toMatch(printed);

  // The disk is mounted elsewhere.
  renameSync(join(disk, "first"), join(disk, "second"));
  rmSync(join(project, ".kit"));
  symlinkSync(join(disk, "second"), join(project, ".kit"));
  const { stdout: manifest } = await runKit(project, ["manifest"]);
  expect(manifest).toBe(`${said}\n{"trainer":{"name":"tiny"}}\n`);
  const again = await runKit(project, ["start"]);
  expect(again.stderr).toBe("");
  expect(again.stdout).toMatch(printed);
});
