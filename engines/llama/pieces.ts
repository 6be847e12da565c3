import type { Piece } from "../../protocol/trainingCheck.ts";
import type { Example } from "./examples.ts";
import { BYTES, SPECIALS, decode, specialText } from "./tokenizer.ts";

/** An example's text with its specials, in parts that are learned or not. */
export function piecesOf({ tokens, learned }: Example): Piece[] {
  const pieces: Piece[] = [];
  for (let start = 0, end = 0; start < tokens.length; start = end) {
    const kind = kindAt(start);
    end = start + 1;
    while (!kind.isSpecial && end < tokens.length && isSame(kind, kindAt(end))) end++;
    const part = tokens.subarray(start, end);
    pieces.push({ text: kind.isSpecial ? nameOf(part[0]) : decode(part), ...kind });
  }
  return pieces;

  function kindAt(index: number): Omit<Piece, "text"> {
    return { isLearned: learned[index] === 1, isSpecial: tokens[index]! >= BYTES };
  }
}

function isSame(one: Omit<Piece, "text">, other: Omit<Piece, "text">): boolean {
  return one.isLearned === other.isLearned && one.isSpecial === other.isSpecial;
}

const NAMES = Object.keys(SPECIALS) as (keyof typeof SPECIALS)[];

function nameOf(token: number | undefined): string {
  const name = NAMES.find((one) => SPECIALS[one] === token);
  return name === undefined ? "" : specialText(name);
}
