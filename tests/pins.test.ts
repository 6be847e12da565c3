import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("packages whose insides Kit uses are pinned to one version", () => {
  const file = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { dependencies } = JSON.parse(file) as { dependencies: Record<string, string> };
  for (const name of ["@huggingface/jinja", "hyparquet"]) {
    expect(dependencies[name], name).toMatch(/^\d+\.\d+\.\d+$/);
  }
});
