import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findErrors } from "./errorSources.ts";

const DOCUMENT = new URL("../../docs/errors.md", import.meta.url);
const ROW = /^\| (?:`([A-Z_]+|\d{3})`|–) *\| `+(.+?)`+ *\| (.+?) *\| (.+?) *\|$/gm;

/** Words that tell what to do, or what is asked for. */
const TELLING =
  /\b(must|needs?|requires|takes|expected)\b|(^|[.:;,—] )(or |then |if [\w ]+, )?(add|check|choose|close|create|delete|fix|free|install|load|look|lower|make|name|open|pass|raise|reload|remove|rename|run|save|see|send|set|shorten|split|start|throw|try|update|use|wait|write)\b/i;
/** Examples of what others say, with the place in the project to look at. */
const PLACED = /^src\/kit\/trainer\.ts:|\(src\/kit\/trainer\.ts:4:7\)$/;
/** Sentences that name another place to look at. */
const POINTING = /The page is at \/\.|Its whole output is in /;

const rows = [...readFileSync(DOCUMENT, "utf8").matchAll(ROW)].map(
  ([, key = "", message = "", when = "", remedy = ""]) => ({ key, message, when, remedy }),
);
const errors = findErrors();
/** Those whose words are the code's own, not passed on. */
const own = errors.filter(({ pattern }) => pattern.source !== "^.+$");

test("every error in the code is in the catalogue, with its words", () => {
  expect(errors.length).toBeGreaterThan(90);
  const missing = errors.filter(
    ({ key, pattern }) =>
      !rows.some((row) => (key === "" || row.key === key) && pattern.test(row.message)),
  );
  expect(missing.map(({ key, pattern, place }) => `${key} ${pattern.source} (${place})`)).toEqual(
    [],
  );
});

test("every error of the catalogue is in the code", () => {
  const stale = rows.filter(
    ({ key, message }) =>
      !PLACED.test(message) &&
      !own.some((error) => ["", key].includes(error.key) && error.pattern.test(message)),
  );
  expect(stale.map(({ key, message }) => `${key} ${message}`)).toEqual([]);
});

test("every code of the union is one that an error has", () => {
  const source = readFileSync(new URL("../../protocol/errorCode.ts", import.meta.url), "utf8");
  const codes = [...source.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code);
  const used = new Set(errors.map(({ key }) => key).filter((key) => /^[A-Z]/.test(key)));
  expect(codes.toSorted()).toEqual([...used].toSorted());
});

test("every error says what to do, and the catalogue when it comes", () => {
  const silent = rows.filter(
    ({ message }) => ![TELLING, PLACED, POINTING].some((told) => told.test(message)),
  );
  expect(silent.map(({ message }) => message)).toEqual([]);
  for (const { when, remedy } of rows) expect(`${when} ${remedy}`).toMatch(/\S \S/);
});
