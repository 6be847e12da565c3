import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MODEL_FOLDERS =
  /^engines\/(embedded|training|checkpoint|modelFiles|families|gguf|export|lora|llama|objectives|examples)\//;
const NOT_ENGINES = /^(?!engines\/)/;
const PRODUCT = ["protocol", "disk", "jobs", "engines", "sdk", "server", "cli", "src"];

/**
 * A private word, the field's word for it, and the folders that the rule is limited to. `is bad` finds
 * `isBad` and `IS_BAD` in code, comments and file names, and `most *` each identifier with "most" before
 * another word. A word that is good English elsewhere is listed by the identifiers that it made.
 */
const WORDS: [privateWord: string, fieldWord: string, folders?: RegExp][] = [
  ["taken over", "continued"],
  ["is bad", "isUndesirable"],
  ["turns neighbours", "ropeType"],
  ["invitation", "workerInit"],
  ["shelf", "pool"],
  ["lend", "acquire"],
  ["retire", "evict"],
  ["heed", "handle"],
  ["criterion", "scorer"],
  ["twin", "concurrent"],
  ["most *", "max", NOT_ENGINES],
  ["most *", "max", MODEL_FOLDERS],
  ["least *", "min", MODEL_FOLDERS],
  ["fewest *", "min", NOT_ENGINES],
  ["asked *", "requested", NOT_ENGINES],
  ["told *", "reported", NOT_ENGINES],
  ["is told", "isNoted", NOT_ENGINES],
  ["in places", "restoreLocations", NOT_ENGINES],
  ["standing", "runStatus", NOT_ENGINES],
  ["piece", "delta", NOT_ENGINES],
  ["hearing", "polled", NOT_ENGINES],
  ["unwritten", "dropped"],
  ["answerer", "modelHost"],
  ["warm models", "hostedModels"],
];

const RULES = WORDS.map(([word, instead, folders = /^/]) => ({
  pattern: new RegExp(` ${word.replace("*", "\\S+")} `),
  complaint: `say "${instead}" instead of "${word}"`,
  folders,
}));

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
    const rules = RULES.filter(({ folders }) => folders.test(file));
    return identifiersOf(file).flatMap(([line, words]) =>
      rules
        .filter(({ pattern }) => pattern.test(words))
        .map(({ complaint }) => `${file}:${line}: ${complaint}`),
    );
  });
  expect(complaints).toEqual([]);
});
