import { byteCharacters } from "../byteTokens.ts";

const CHARACTERS = byteCharacters();
/** The byte that each character of a byte-level vocabulary stands for. */
const BYTES = new Map(CHARACTERS.map((character, byte) => [character, byte]));

/** A text as byte-level vocabularies have it: a character for each byte. */
export function byteText(text: string): string {
  return Array.from(Buffer.from(text), (byte) => CHARACTERS[byte]).join("");
}

/** The bytes that a token of a byte-level vocabulary stands for; its own where it is none of these. */
export function tokenBytes(token: string): Uint8Array {
  const bytes = Array.from(token, (character) => BYTES.get(character));
  return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : Buffer.from(token);
}

/** A byte that the vocabulary has no character for, as sentencepiece writes it. */
export function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** The byte that such a token stands for. */
export function tokenByte(token: string): number | undefined {
  const digits = /^<0x([\dA-Fa-f]{2}|\+[\dA-Fa-f])>$/.exec(token)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}
