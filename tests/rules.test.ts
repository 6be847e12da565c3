import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Documents with tables of what is promised, and of the tests that hold it. */
const DOCUMENTS = ["README.md", "../SECURITY.md"];

/** Each test that a document names: the file, and the parts of its title between the ellipses. */
function namedTests(document: string): [file: string, titleParts: string[]][] {
  const rows = readFileSync(new URL(document, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"));
  return rows.flatMap((row) => {
    let file = "";
    return [...row.matchAll(/`([\w/]+\.test\.ts)`|"([^"]+)"/g)].map(([, named, title = ""]) => {
      file = named ?? file;
      return [file, title.split("…")] as [string, string[]];
    });
  });
}

test.each(DOCUMENTS.flatMap(namedTests))(
  "a table names a test that exists: %s %j",
  (file, titleParts) => {
    const source = readFileSync(new URL(file, import.meta.url), "utf8");
    for (const part of titleParts) expect(source).toContain(part.trim());
  },
);

test("every promise of SECURITY.md names a test", () => {
  const rows = readFileSync(new URL("../SECURITY.md", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|( Promise|[ -]+\|)/.test(line));
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toMatch(/`[\w/]+\.test\.ts`/);
});
