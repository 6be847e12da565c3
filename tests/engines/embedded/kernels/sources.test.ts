import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOLDER = new URL("../../../../engines/embedded/kernels/assembly/", import.meta.url);
const MOST_LINES = 40;

/** Every function of the kernels' sources, from its first line to its last, a name and its lines. */
const FUNCTIONS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".ts"))
  .flatMap((file) => {
    const source = readFileSync(new URL(file, FOLDER), "utf8");
    const found = source.matchAll(/^(?:export )?function (\w+)[^]*?^\}$/gm);
    return [...found].map(([text, name = ""]) => [name, text.split("\n").length] as const);
  });

test("each function of the kernels has fewer than 40 lines", () => {
  expect(FUNCTIONS.length).toBeGreaterThan(40);
  expect(FUNCTIONS.filter(([, lines]) => lines >= MOST_LINES)).toEqual([]);
});
