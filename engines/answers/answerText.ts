import type { Tokenizer } from "../tokens/tokenizer.ts";

/**
 * The text of an answer, token by token.
 * @returns takes the answer's next token, and returns the text that is now known: no character is split. Malformed
 * bytes become U+FFFD; a character that is cut off at the end never comes.
 */
export function createAnswerText({ bytesOf, dropsSpace }: Tokenizer): (token: number) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let isBegun = !dropsSpace;
  return (token) => {
    const text = decoder.decode(bytesOf(token), { stream: true });
    if (isBegun || text === "") return text;
    isBegun = true;
    return text.startsWith(" ") ? text.slice(1) : text;
  };
}
