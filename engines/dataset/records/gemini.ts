import { isRecord } from "../../../protocol/isRecord.ts";
import { invalid } from "../tables/tableRow.ts";

/** Where a row has Gemini's messages, and its system's text. */
export const CONTENTS = "contents";
export const INSTRUCTIONS = ["systemInstruction", "system_instruction"];

const TEXT_ALONE = "and Kit reads texts alone of Gemini's form: write messages as OpenAI does";

/**
 * The turns of Gemini's form as ShareGPT's.
 * @throws KitError `DATASET_INVALID` for what is no text
 */
export function geminiTurns(contents: unknown, where: string): unknown {
  if (!Array.isArray(contents)) return contents;
  return contents.map((content: unknown, at) => {
    if (!isRecord(content)) return content;
    const { role, parts, ...rest } = content;
    return { role, content: textsOf(parts, where, `${CONTENTS}[${at}]`), ...rest };
  });
}

/** The system's text of Gemini's form, or as the row has it. */
export function instructionOf(instruction: unknown, where: string, name: string): unknown {
  return isRecord(instruction) ? textsOf(instruction["parts"], where, name) : instruction;
}

function textsOf(parts: unknown, where: string, at: string): unknown {
  if (!Array.isArray(parts)) throw invalid(where, `${at} needs "parts", a list of {"text":"…"}.`);
  for (const part of parts as unknown[]) {
    const other = isRecord(part) ? Object.keys(part).find((key) => key !== "text") : "?";
    if (other === undefined) continue;
    throw invalid(where, `${at} has a part ${JSON.stringify(other)}, ${TEXT_ALONE}.`);
  }
  return parts;
}
