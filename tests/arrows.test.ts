import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The arrows of the design, a second time: the folders that each folder may import. */
const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  disk: ["protocol"],
  src: ["protocol"],
  engines: ["protocol", "disk"],
  jobs: ["protocol", "disk"],
  sdk: ["protocol", "engines", "jobs"],
  server: ["protocol", "disk", "jobs"],
  cli: ["protocol", "disk", "jobs", "sdk", "server"],
};
const HOUSE = Object.keys(MAY_IMPORT);
const RUNS_IN_BROWSER = ["protocol", "src"];

/** The repository's own config; rules about imports need no types, so no file has to exist. */
const eslint = new ESLint({
  cwd: ROOT,
  overrideConfig: { languageOptions: { parserOptions: { project: null } } },
  ruleFilter: ({ ruleId }) =>
    /^(import-x\/no-restricted-paths|import-x\/order|no-restricted-imports|no-restricted-syntax|@typescript-eslint\/consistent-type-imports)$/.test(
      ruleId,
    ),
});

/** The linter's messages for a file of this code in a folder. */
async function complaints(folder: string, code: string, file = "new.ts"): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: join(ROOT, folder, file) });
  return (result?.messages ?? []).map(({ message }) => message);
}

/** A module that the folder has. */
function moduleOf(folder: string): string {
  const file = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .sort()
    .find((path) => path.endsWith(".ts"));
  return `../${folder}/${file}`;
}

const KINDS: [kind: string, code: (module: string) => string][] = [
  ["import", (module) => `import { x } from "${module}"; x();`],
  ["import type", (module) => `import type { X } from "${module}"; export type Y = X;`],
  ["export from", (module) => `export { x } from "${module}";`],
  ["import()", (module) => `await import("${module}");`],
];

/** The file of a folder that may use all of its arrows. */
const ALLOWED_IN: Record<string, string> = { sdk: "engine.ts" };

const pairs = HOUSE.flatMap((from) =>
  HOUSE.filter((to) => to !== from).map((to) => [from, to] as const),
);

describe("a folder imports only where its arrows point", () => {
  const forbidden = pairs.filter(([from, to]) => !MAY_IMPORT[from]?.includes(to));
  it.each(forbidden)("%s may not import %s", async (from, to) => {
    for (const [kind, code] of KINDS) {
      const found = await complaints(from, code(moduleOf(to)));
      expect(found, kind).toEqual([expect.stringContaining(`${from}/ may import only `)]);
    }
    const inType = `export type X = import("${moduleOf(to)}").X;`;
    expect(await complaints(from, inType)).not.toEqual([]);
  });

  const allowed = pairs.filter(([from, to]) => MAY_IMPORT[from]?.includes(to));
  it.each([...allowed, ...HOUSE.map((folder) => [folder, folder] as const)])(
    "%s may import %s",
    async (from, to) => {
      for (const [kind, code] of KINDS) {
        expect(await complaints(from, code(moduleOf(to)), ALLOWED_IN[from]), kind).toEqual([]);
      }
    },
  );

  it.each(HOUSE)("%s does not go round by the package's name", async (folder) => {
    for (const [kind, code] of KINDS) {
      const found = await complaints(folder, code("kit"));
      expect(found, kind).toEqual([expect.stringContaining("Inside the house")]);
    }
  });

  it("from a Vue file too", async () => {
    const vue = `<script setup lang="ts">\nimport { x } from "${moduleOf("server")}";\nx();\n</script>\n`;
    expect(await complaints("src", vue, "New.vue")).toEqual([
      expect.stringContaining("src/ may import only protocol."),
    ]);
    expect(await complaints("src", vue.replace(moduleOf("server"), "node:fs"), "New.vue")).toEqual([
      expect.stringContaining("also runs in a browser"),
    ]);
  });
});

describe("code that also runs in a browser imports nothing from Node", () => {
  const modules = ["node:fs", "node:fs/promises", "fs", "fs/promises", "path"];
  it.each(RUNS_IN_BROWSER.flatMap((folder) => modules.map((module) => [folder, module] as const)))(
    "%s may not import %s",
    async (folder, module) => {
      for (const [kind, code] of KINDS) {
        const found = await complaints(folder, code(module));
        expect(found, kind).toEqual([expect.stringContaining("also runs in a browser")]);
      }
    },
  );

  it.each(HOUSE.filter((folder) => !RUNS_IN_BROWSER.includes(folder)))("%s may", async (folder) => {
    for (const [, code] of KINDS) expect(await complaints(folder, code("node:fs"))).toEqual([]);
  });
});

describe("an engine is a folder beside the rooms that engines share", () => {
  const ENGINE = "engines/embedded/index.ts";
  const places: [folder: string, file: string, up: string][] = [
    ["engines", "new.ts", "./embedded/index.ts"],
    ["engines/checkpoint", "new.ts", "../embedded/index.ts"],
    ["engines/dataset", "new.ts", "../embedded/index.ts"],
    ["engines/families", "new.ts", "../embedded/index.ts"],
  ];
  it.each(places)(`%s/%s may not import ${ENGINE}`, async (folder, file, path) => {
    for (const [kind, code] of KINDS) {
      const found = await complaints(folder, code(path), file);
      expect(found, kind).toEqual([expect.stringContaining("may not import one of them")]);
    }
  });

  it("an engine may import itself and the rooms", async () => {
    for (const path of [
      "./prepare.ts",
      "../defaults.ts",
      "../tokens/byteChat.ts",
      "../dataset/row.ts",
    ]) {
      for (const [kind, code] of KINDS) {
        expect(await complaints("engines/embedded", code(path)), kind).toEqual([]);
      }
    }
  });

  const ways: [folder: string, before: string, after: string][] = [
    ["engines/tokens", "../dataset/row.ts", "../families/dimensions.ts"],
    ["engines/objectives", "../examples/examples.ts", "../training/train.ts"],
    ["engines/embedded/step", "../model/batch.ts", "../train/backend.ts"],
  ];
  it.each(ways)(
    "%s may import the rooms before it, not those after it",
    async (folder, ...paths) => {
      const [before, after] = paths.map((path) => `import { x } from "${path}"; x();`);
      expect(await complaints(folder, before!)).toEqual([]);
      const found = await complaints(folder, after!);
      expect(found).toEqual([expect.stringMatching(/^.*The rooms before \w+\/ may not import it/)]);
    },
  );

  it("sdk imports engines in sdk/engine.ts and sdk/engines.ts alone", async () => {
    for (const [kind, code] of KINDS) {
      const path = `../${ENGINE}`;
      for (const file of ["engine.ts", "engines.ts"]) {
        expect(await complaints("sdk", code(path), file), kind).toEqual([]);
      }
      expect(await complaints("sdk", code(path)), kind).toEqual([
        expect.stringContaining("sdk/engine.ts and sdk/engines.ts alone"),
      ]);
    }
  });
});

it.each(["import", "export"])("names of types come first in an %s", async (kind) => {
  const list = (names: string) => `${kind} { ${names} } from "./other.ts";`;
  expect(await complaints("jobs", list("a, type B, c"))).toEqual([
    expect.stringContaining("`B` type"),
  ]);
  expect(await complaints("jobs", list("type B, c, a"))).toEqual([]);
});
