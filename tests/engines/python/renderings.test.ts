import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { parseRow } from "../../../engines/dataset/row.ts";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import type { Conversation } from "../../../protocol/chat.ts";
import { messageOf } from "../../../protocol/error.ts";
import { parseJson, stringifyJson } from "../../../protocol/json.ts";
import { CHAT_TEMPLATES } from "../../../scripts/chatTemplates.mjs";
import { createScratch } from "../scratch.ts";
import { PYTHON, hasPython } from "./environment.ts";

const ENGINE = fileURLToPath(new URL("../../../engines/python", import.meta.url));
const PROGRAM = fileURLToPath(new URL("renderings.py", import.meta.url));
const ROWS = fileURLToPath(new URL("renderings.jsonl", import.meta.url));
const SPECIALS = { bos_token: "<s>", eos_token: "</s>", pad_token: "<pad>", unk_token: "<unk>" };

/** Of transformers, and of the Python engine; null where it refuses the conversation. */
type Written = [theirs: string | null, python: string | null];

/** As a job's file has them. */
const rows = readFileSync(ROWS, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => parseRow(parseJson(line), "a row"));
const conversations = rows as unknown as Conversation[];

const scratch = createScratch();
afterAll(() => scratch.remove());
const isHere = hasPython && existsSync(CHAT_TEMPLATES);
const models: [name: string, written: Written[]][] = isHere
  ? Object.entries(JSON.parse(printed()) as Record<string, Written[]>)
  : // A file needs a suite, if only one that is left out.
    [["no model", []]];

function printed(): string {
  const written = scratch.file("rows.jsonl", rows.map((row) => stringifyJson(row)).join("\n"));
  const words = ["-B", PROGRAM, ENGINE, CHAT_TEMPLATES, ROWS, written];
  return execFileSync(PYTHON, words, { encoding: "utf8", maxBuffer: 2 ** 30 });
}

/** Each conversation, without and with what opens an answer; or why the template refuses it. */
function writtenBy(name: string): { text: string | null; problem: string }[] {
  const source = readFileSync(join(CHAT_TEMPLATES, `${name}.jinja`), "utf8");
  const render = createRender(source, SPECIALS, name);
  return conversations.flatMap((conversation) =>
    [false, true].map((opens) => {
      try {
        return { text: render(conversation, opens), problem: "" };
      } catch (error) {
        return { text: null, problem: messageOf(error) };
      }
    }),
  );
}

it.runIf(isHere)("compares 2,592 renderings", () => {
  expect(models.flatMap(([, written]) => written)).toHaveLength(72 * conversations.length * 2);
});

describe.runIf(isHere).each(models)("18 conversations by the template of %s", (name, written) => {
  const ours = isHere ? writtenBy(name) : [];

  it("are written by both engines as transformers writes them, or refused by all", () => {
    for (const [i, [theirs, python]] of written.entries()) {
      const { text, problem } = ours[i]!;
      const { messages } = conversations[i >> 1]!;
      const place = `conversation ${i >> 1}: ${problem}`;
      expect(python, place).toBe(text);
      if (theirs !== null && text === null) {
        // What such a template would drop in silence.
        expect(problem, place).toContain("The model's chat template doesn't support tools.");
      } else if (theirs === null && text !== null) {
        // Null is refused there, and an empty text here is not.
        const isWordless = messages.some(({ content }) => content === undefined);
        expect(isWordless, place).toBe(true);
      } else expect(text, place).toBe(theirs);
    }
  });
});
