import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTinyProject, runKit } from "../kit.ts";

/** Packages that npm's registry could have under the name, each with the files of `node_modules/kit`. */
const OTHERS: Record<string, Record<string, string>> = {
  "with exports of its own": {
    "package.json": `{"name":"kit","version":"2.0.31","type":"module","exports":"./index.js"}`,
    "index.js": "export const flatten = 1;",
  },
  "with a command of its own": {
    "package.json": `{"name":"kit","bin":{"kit":"bin.js"},"main":"index.js"}`,
    "index.js": "module.exports = {};",
  },
  "with nothing to import": { "package.json": `{"name":"kit"}` },
};

const SENTENCE =
  /^kit: The package kit installed for \S+ is a different package\. Install this one with: pnpm add kit@file:\S+\n$/;

function install(project: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries({ ...files, "../../pnpm-lock.yaml": "" })) {
    const path = join(project, "node_modules", "kit", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

test.each(Object.entries(OTHERS))(
  "a package kit that is another one says how to install this one: %s",
  async (_, files) => {
    const project = createTinyProject();
    install(project, files);
    for (const command of ["build", "start", "manifest"]) {
      const { code, stdout, stderr } = await runKit(project, [command]);
      const isManifest = command === "manifest";
      // The page shows it, and `kit manifest` sends it to the server.
      const said = isManifest ? (JSON.parse(stdout) as { error: string }).error : "";
      expect(isManifest ? `kit: ${said}\n` : stderr).toMatch(SENTENCE);
      expect(code).toBe(isManifest ? 0 : 1);
    }
  },
);

test.each(Object.entries(OTHERS))(
  "a bundle from before the other one was installed says so too: %s",
  async (_, files) => {
    const bundle = `import { createKit } from "kit"; export default createKit();`;
    const project = createTinyProject(undefined, { ".kit/build/index.mjs": bundle });
    install(project, files);
    const { code, stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(SENTENCE);
    expect(code).toBe(1);
  },
);
