import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The npm scripts of Kit and of a new project. */
const SCRIPTS = ["../package.json", "../templates/quickstart/package.json"].flatMap((path) => {
  const { scripts } = JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as {
    scripts: Record<string, string>;
  };
  return Object.entries(scripts);
});

/** Each test that the table of rules names: the file, and the parts of its title between the ellipses. */
function namedTests(): [file: string, titleParts: string[]][] {
  const rows = readFileSync(new URL("README.md", import.meta.url), "utf8")
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

test.each(namedTests())("a table names a test that exists: %s %j", (file, titleParts) => {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  for (const part of titleParts) expect(source).toContain(part.trim());
});

test.each(SCRIPTS)("npm run %s needs no POSIX shell: %s", (_, script) =>
  expect(script).not.toMatch(/['$;|]|^\w+=|& \w+=|\brm\b/),
);
