import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findErrors } from "./errorSources.ts";

const DOCUMENT = new URL("../../docs/errors.md", import.meta.url);
const ROW = /^\| `([A-Z_]+|\d{3})` *\| `(.+?)` *\| (.+?) *\| (.+?) *\|$/gm;

/** Words that tell what to do, or what is asked for. */
const TELLING =
  /\b(must|needs?|takes|expected)\b|(^|[.:;,—] )(or |then |if it is yours, )?(add|check|choose|close|create|free|install|load|look|lower|make|name|open|pass|raise|remove|run|save|see|send|shorten|start|throw|try|use|wait|write)\b/i;
/** Sentences that the page shows for a browser, or that name a place in the project to look at. */
const POINTING = /^src\/kit\/trainer\.ts:|\(src\/kit\/trainer\.ts:4:7\)$|The page is at \/\./;

const rows = [...readFileSync(DOCUMENT, "utf8").matchAll(ROW)].map(
  ([, key = "", message = "", when = "", remedy = ""]) => ({ key, message, when, remedy }),
);
const errors = findErrors();

test("every error in the code is in the catalogue, with its words", () => {
  expect(errors.length).toBeGreaterThan(60);
  const missing = errors.filter(
    ({ key, pattern }) => !rows.some((row) => row.key === key && pattern.test(row.message)),
  );
  expect(missing.map(({ key, pattern, place }) => `${key} ${pattern.source} (${place})`)).toEqual(
    [],
  );
});

/** Statuses whose sentences the code passes on by a name. */
const INDIRECT = new Set(["401", "429"]);

test("every error of the catalogue is in the code", () => {
  const stale = rows.filter(
    ({ key, message }) =>
      !INDIRECT.has(key) &&
      !errors.some((error) => error.key === key && error.pattern.test(message)),
  );
  expect(stale.map(({ key, message }) => `${key} ${message}`)).toEqual([]);
});

test("every error says what to do, and the catalogue when it comes", () => {
  const silent = rows.filter(({ message }) => !TELLING.test(message) && !POINTING.test(message));
  expect(silent.map(({ message }) => message)).toEqual([]);
  for (const { when, remedy } of rows) expect(`${when} ${remedy}`).toMatch(/\S \S/);
});
