import { readFileSync, readdirSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { pageSize } from "../bench/rows/pageSize.ts";
import { CLI } from "./kit.ts";

const ASSETS = new URL("../dist/page/assets/", import.meta.url);

test("the page has Vue's production version, even when vitest builds it", () => {
  const scripts = readdirSync(ASSETS).filter((name) => name.endsWith(".js"));
  expect(scripts).toHaveLength(1);
  for (const name of scripts) {
    expect(readFileSync(new URL(name, ASSETS), "utf8").includes("[Vue warn]")).toBe(false);
  }
});

test("the page is as small as the benchmark wants it", async () => {
  const [figure] = await pageSize.measure({} as never);
  expect(figure?.goal?.isMet(figure.ours, NaN), `${figure?.ours} kB`).toBe(true);
});

test("the command is executable, so that npx kit still works in the quickstart after a build", () => {
  expect((statSync(CLI).mode & 0o111).toString(8)).toBe("111");
});
