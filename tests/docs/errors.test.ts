import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findErrors } from "./errorSources.ts";

const PAGE = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const SOURCE = readFileSync(new URL("../../protocol/error.ts", import.meta.url), "utf8");

/** Words that tell what to do, or what is asked for. */
const TELLING =
  /\b(must|needs?|requires|takes|expected)\b|(^|[.:;,—…] )(or |then |if [\w ]+, )?(add|ask|check|choose|close|create|delete|export|fix|free|install|leave|load|look|lower|make|moderate|name|open|pass|raise|reconnect|reload|remove|rename|restore|run|save|search|see|send|set|shorten|split|start|throw|try|update|use|wait|write)\b/i;
/** Sentences that name another place to look at, or what there is to choose from. */
const POINTING = /Its whole output is in |Did you mean/;

const errors = findErrors();
const keys = (form: RegExp) => [
  ...new Set(errors.map(({ key }) => key).filter((key) => form.test(key))),
];
const rows = (form: RegExp) => [...PAGE.matchAll(form)].map(([, key = ""]) => key);

test("the page has a line for each code, and each is one that an error has", () => {
  const codes = [...SOURCE.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code);
  expect(codes.toSorted()).toEqual(keys(/^[A-Z]/).toSorted());
  expect(rows(/^- `([A-Z_]+)`: /gm)).toEqual(expect.arrayContaining(codes));
  expect(rows(/^- `([A-Z_]+)`: /gm)).toHaveLength(codes.length);
});

test("the page has a row for each status of an error", () => {
  expect(rows(/^\| `(\d{3})` /gm)).toEqual(expect.arrayContaining(keys(/^\d/)));
});

test("every error says what to do", () => {
  expect(errors.length).toBeGreaterThan(90);
  const silent = errors
    .map(({ pattern, place }) => ({ text: wordsOf(pattern), place }))
    // Those whose advice is the code's own, not filled in.
    .filter(({ text }) => !/…\.?$/.test(text))
    .filter(({ text }) => !TELLING.test(text) && !POINTING.test(text));
  expect(silent.map(({ text, place }) => `${text} (${place})`)).toEqual([]);
});

function wordsOf(pattern: RegExp): string {
  return pattern.source.slice(1, -1).replaceAll(".+", "…").replaceAll("\\", "");
}
