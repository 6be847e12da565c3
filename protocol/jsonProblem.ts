import jsonc from "jsonc-parser";

/** Why a text is not JSON. */
export interface JsonProblem {
  problem: string;
  /** Of the first wrong character, from 0; the text's length where it ends too early. */
  offset: number;
}

/** @param text that `JSON.parse` refuses */
export function problemOfJson(text: string): JsonProblem {
  const offsets: number[] = [];
  jsonc.visit(
    text,
    { onError: (_, offset) => void offsets.push(offset) },
    { disallowComments: true, allowTrailingComma: false },
  );
  const offset = offsets[0] ?? text.length;
  if (offset >= text.trimEnd().length) return { problem: "it ends too early", offset };
  return { problem: `${JSON.stringify(text.charAt(offset))} is wrong there`, offset };
}
