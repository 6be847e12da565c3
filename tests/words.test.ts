import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PRODUCT = ["protocol", "disk", "jobs", "engines", "sdk", "server", "cli", "src"];

/**
 * A private word, the field's word for it, and the folder that the rule is limited to. `is bad` finds
 * `isBad` and `IS_BAD` in code, comments and file names; a word with honest uses too is listed in
 * the identifiers that it made.
 */
const WORDS: [privateWord: string, fieldWord: string, folder?: string][] = [
  ["taken over", "continued"],
];

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", ...PRODUCT], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => /\.(ts|vue|py)$/.test(file) && existsSync(join(ROOT, file)));

/** `turnsNeighbours` and `TURNS_NEIGHBOURS` as " turns neighbours ". */
function wordsOf(identifier: string): string {
  const words = identifier.replace(/([a-z\d])(?=[A-Z])/g, "$1 ").replace(/[\W_]+/g, " ");
  return ` ${words.toLowerCase()} `;
}

/** Each identifier of a file with its line; the file's own name is at line 0. */
function identifiersOf(file: string): [line: number, words: string][] {
  const lines = [file, ...readFileSync(join(ROOT, file), "utf8").split("\n")];
  return lines.flatMap((text, line) =>
    (text.match(/[A-Za-z]\w*/g) ?? []).map((name): [number, string] => [line, wordsOf(name)]),
  );
}

test("code has the field's words", () => {
  const complaints = files.flatMap((file) => {
    const rules = WORDS.filter(([, , folder = ""]) => file.startsWith(folder));
    return identifiersOf(file).flatMap(([line, words]) =>
      rules
        .filter(([word]) => words.includes(` ${word} `))
        .map(([word, instead]) => `${file}:${line}: say "${instead}" instead of "${word}"`),
    );
  });
  expect(complaints).toEqual([]);
});
