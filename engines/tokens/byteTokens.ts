/** Token ids below this are bytes; special tokens follow. */
export const BYTES = 256;

export const SPECIALS = {
  pad: 256,
  bos: 257,
  eos: 258,
  system: 259,
  user: 260,
  assistant: 261,
} as const;

/** A special token's text in Hugging Face's files. */
export function specialText(name: keyof typeof SPECIALS): string {
  return `<|${name}|>`;
}

/** Vocabulary size, padded to a multiple of 8. */
export const VOCABULARY = 264;

const encoder = new TextEncoder();

/** The text's UTF-8 bytes; never special tokens, even if the text spells one. */
export function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * Decodes tokens, skipping special tokens. Malformed bytes become U+FFFD; an incomplete character at the
 * end is dropped.
 */
export function decode(tokens: Iterable<number>): string {
  const bytes = Uint8Array.from([...tokens].filter((token) => token < BYTES));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

/**
 * The character that stands for each byte in byte-level vocabularies: its Latin-1 character if that is
 * printable, otherwise the next unused one from U+0100 on.
 */
export function byteCharacters(): string[] {
  let hidden = 0;
  return Array.from({ length: BYTES }, (_, byte) => {
    const isPrintable =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad && byte <= 0xff);
    return String.fromCodePoint(isPrintable ? byte : 0x100 + hidden++);
  });
}

const CHARACTERS = byteCharacters();
/** The byte that each character of a byte-level vocabulary stands for. */
const BYTE_OF = new Map(CHARACTERS.map((character, byte) => [character, byte]));

/** A text in a byte-level vocabulary's alphabet, one character a byte. */
export function byteText(text: string): string {
  return Array.from(Buffer.from(text), (byte) => CHARACTERS[byte]).join("");
}

/** The bytes of a byte-level token; UTF-8 of any other token. */
export function tokenBytes(token: string): Uint8Array {
  const bytes = Array.from(token, (character) => BYTE_OF.get(character));
  return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : Buffer.from(token);
}

/** SentencePiece's byte-fallback token for a byte. */
export function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** The byte of a byte-fallback token. */
export function tokenByte(token: string): number | undefined {
  const digits = /^<0x([\dA-Fa-f]{2}|\+[\dA-Fa-f])>$/.exec(token)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}
