import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The repository's own config; rules about imports need no types, so no file has to exist. */
const eslint = new ESLint({
  cwd: ROOT,
  overrideConfig: { languageOptions: { parserOptions: { project: null } } },
  ruleFilter: ({ ruleId }) =>
    /^(import-x\/no-restricted-paths|no-restricted-imports|no-restricted-syntax|@typescript-eslint\/consistent-type-imports)$/.test(
      ruleId,
    ),
});

/** The linter's messages for a file of this code. */
async function complaints(file: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: join(ROOT, file) });
  return (result?.messages ?? []).map(({ message }) => message);
}

const KINDS: ((module: string) => string)[] = [
  (module) => `import { x } from "${module}"; x();`,
  (module) => `import type { X } from "${module}"; export type Y = X;`,
  (module) => `export { x } from "${module}";`,
  (module) => `await import("${module}");`,
];

const RUNS_IN_BROWSER = "also runs in a browser";
const ENGINE = "engines/embedded/index.ts";

it.each([
  ["server/new.ts", "../sdk/index.ts", "server/ may import only "],
  ["engines/new.ts", "../jobs/store.ts", "engines/ may import only "],
  ["jobs/new.ts", "../server/server.ts", "jobs/ may import only "],
  ["jobs/new.ts", "./remote/takeJob.ts", "Only remote/ knows"],
  ["server/http/new.ts", "../serve/server.ts", "http/ knows nothing"],
  ["server/http/new.ts", "../../jobs/store.ts", "http/ knows nothing"],
  ["jobs/new.ts", "kit", "Inside Kit"],
  ["protocol/new.ts", "node:fs", RUNS_IN_BROWSER],
  ["src/new.ts", "path", RUNS_IN_BROWSER],
  ["engines/dataset/new.ts", "../embedded/index.ts", "may not import an engine"],
  [
    "engines/dataset/new.ts",
    "../embedded/kernels/assembly/tsconfig.json",
    "may not import an engine",
  ],
  ["engines/tokens/new.ts", "../families/dimensions.ts", "The folders before families/"],
  ["engines/embedded/step/new.ts", "../train/backend.ts", "The folders before train/"],
  ["sdk/new.ts", `../${ENGINE}`, "Only sdk/engine.ts and sdk/engines.ts"],
])("%s may not import %s", async (file, module, why) => {
  for (const code of KINDS) {
    expect(await complaints(file, code(module))).toEqual([expect.stringContaining(why)]);
  }
});

it.each([
  ["server/new.ts", "../jobs/store.ts"],
  ["server/new.ts", "node:fs"],
  ["engines/embedded/new.ts", "../dataset/row.ts"],
  ["engines/tokens/new.ts", "../dataset/row.ts"],
  ["sdk/engine.ts", `../${ENGINE}`],
])("%s may import %s", async (file, module) => {
  for (const code of KINDS) expect(await complaints(file, code(module))).toEqual([]);
});

it.each(["../server/server.ts", "node:fs"])("a Vue file may not import %s", async (module) => {
  const vue = `<script setup lang="ts">\nimport { x } from "${module}";\nx();\n</script>\n`;
  expect(await complaints("src/New.vue", vue)).toHaveLength(1);
});

it.each([
  ["spawn(program, [], { stdio: 'ignore' });", 1],
  ["spawn(program, [], { stdio: 'ignore', windowsHide: true });", 0],
  ["execFileSync(program);", 1],
])("a subprocess opens no window on Windows: %s", async (code, count) => {
  expect(await complaints("server/new.ts", code)).toHaveLength(count);
});
