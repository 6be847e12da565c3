import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("packages whose insides Kit uses are pinned to one version", () => {
  const file = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { dependencies, devDependencies } = JSON.parse(file) as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const all = { ...dependencies, ...devDependencies };
  for (const name of ["@huggingface/jinja", "@huggingface/tokenizers", "hyparquet"]) {
    expect(all[name], name).toMatch(/^\d+\.\d+\.\d+$/);
  }
});
