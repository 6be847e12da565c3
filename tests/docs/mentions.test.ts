import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT, codeIn } from "./snippets.ts";

const FOLDERS = [
  ...["protocol", "disk", "jobs", "engines", "sdk", "server", "cli", "src"],
  ...["tests", "bench", "scripts", "templates", "docs"],
];
/** A path from the clone's root. `src/kit/` is a user's project. */
const PATH = new RegExp(`^(?:${FOLDERS.join("|")})/(?!kit(?:/|$))[\\w./-]*$`);
/** A path of a source file inside a sentence. */
const SOURCE = /(?<![\w./@<-])(?!src\/kit\/|\.kit\/)[\w.-]+(?:\/[\w.-]+)+\.(?:ts|vue|mjs)\b/g;
const SOURCE_NAME = /^[\w-]+(?:(?:\.test)?\.(?:ts|vue)|\.config\.js)$/;
const COMMENT = /^\s*(?:\/\/|\/?\*).*/gm;

/** Tables of rules name tests by their path in `tests/`. */
const TESTS = "tests";

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(ROOT, file)));
const pages = files.filter((file) => file.endsWith(".md") && !file.startsWith("templates/"));
const sources = files.filter(
  (file) => /\.(ts|vue|mjs|js)$/.test(file) && !file.startsWith("templates/"),
);

const names = new Set(files.map((file) => file.split("/").at(-1)));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Whether a path leads to a file from the clone, from the mentioning file or from a given folder. */
function isThere(path: string, ...bases: string[]): boolean {
  return ["", ...bases].some((base) => existsSync(join(ROOT, base, path)));
}

describe("a page names only files that exist", () => {
  // CHANGELOG.md is about the past.
  test.each(pages.filter((page) => page !== "CHANGELOG.md"))("%s", (page) => {
    const dead = codeIn(read(page)).flatMap((code) => {
      if (SOURCE_NAME.test(code)) return names.has(code) ? [] : [code];
      const paths = PATH.test(code) ? [code] : [...code.matchAll(SOURCE)].map(([path]) => path);
      return paths.filter((path) => !isThere(path, dirname(page), TESTS));
    });
    expect(dead).toEqual([]);
  });

  test("and the recipes of CONTRIBUTING.md name some", () => {
    const named = codeIn(read("CONTRIBUTING.md")).filter((code) => PATH.test(code));
    expect(named.length).toBeGreaterThan(20);
  });
});

test("a comment names only files that exist", () => {
  const dead = sources.flatMap((source) =>
    (read(source).match(COMMENT) ?? []).flatMap((comment) => {
      const paths = [...comment.matchAll(SOURCE)].map(([path]) => path);
      const [top = ""] = source.split("/");
      return [
        ...paths.filter((path) => !isThere(path, dirname(source), top)),
        ...codeIn(comment).filter((code) => SOURCE_NAME.test(code) && !names.has(code)),
      ].map((path) => `${source}: ${path}`);
    }),
  );
  expect(dead).toEqual([]);
});
