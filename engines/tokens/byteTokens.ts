/** Ids 0–255 are bytes; the specials follow. */
export const BYTES = 256;

export const SPECIALS = {
  pad: 256,
  bos: 257,
  eos: 258,
  system: 259,
  user: 260,
  assistant: 261,
} as const;

/** How each special is written in Hugging Face's files. */
export function specialText(name: keyof typeof SPECIALS): string {
  return `<|${name}|>`;
}

/** Tokens the model knows, a count. A multiple of 8: two ids stay unused. */
export const VOCABULARY = 264;

const encoder = new TextEncoder();

/** The text's UTF-8 bytes; never a special, even if the text spells one. */
export function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * The text of the tokens without the specials. Malformed bytes become U+FFFD; a character that is
 * cut off at the end is dropped.
 */
export function decode(tokens: Iterable<number>): string {
  const bytes = Uint8Array.from([...tokens].filter((token) => token < BYTES));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

/**
 * The character that stands for each byte in byte-level vocabularies: itself where Latin-1 shows
 * it, otherwise the next one from U+0100 on.
 */
export function byteCharacters(): string[] {
  let hidden = 0;
  return Array.from({ length: BYTES }, (_, byte) => {
    const shown = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad && byte <= 0xff);
    return String.fromCodePoint(shown ? byte : 0x100 + hidden++);
  });
}
