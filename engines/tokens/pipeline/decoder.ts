import { tokenByte, tokenBytes } from "../byteTokens.ts";
import { replacer } from "./normalizer.ts";
import {
  type Config,
  characterOf,
  countOf,
  flagOf,
  optionalPart,
  partsOf,
  textOf,
  unknownType,
} from "./parts.ts";
import { prependScheme } from "./preTokenizer.ts";

/** Makes a text of tokens again. */
export interface Decoder {
  text: (tokens: readonly string[]) => string;
  /** What a token adds to a text that has begun. */
  bytesOf: (token: string) => Uint8Array;
  /** Whether a text leaves out a space that its first token begins with. */
  dropsSpace: boolean;
}

interface Step {
  chain: (tokens: readonly string[]) => string[];
  /** The same for one token behind others; bytes where that is what it stands for. */
  inner: (token: string) => string | Uint8Array;
  dropsSpace?: boolean;
}

/** @param file `tokenizer.json` */
export function createDecoder(file: Config): Decoder {
  const part = optionalPart(file, "decoder");
  const steps = part ? stepsOf(part) : [SPACES_BETWEEN];
  return {
    text: (tokens) => steps.reduce((left, { chain }) => chain(left), [...tokens]).join(""),
    bytesOf(token) {
      let left: string | Uint8Array = token;
      for (const { inner } of steps) if (typeof left === "string") left = inner(left);
      return typeof left === "string" ? Buffer.from(left) : left;
    },
    dropsSpace: steps.some(({ dropsSpace }) => dropsSpace),
  };
}

/** Without a decoder. */
const SPACES_BETWEEN: Step = {
  chain: (tokens) => [tokens.join(" ")],
  inner: (token) => ` ${token}`,
  dropsSpace: true,
};

function stepsOf(part: Config): Step[] {
  if (part["type"] === "Sequence") return partsOf("decoder", part, "decoders").flatMap(stepsOf);
  const make = Object.hasOwn(MAKERS, String(part["type"])) && MAKERS[String(part["type"])];
  if (!make) throw unknownType("decoder", part);
  return [make(part)];
}

const MAKERS: Record<string, (part: Config) => Step> = {
  Fuse: () => ({ chain: (tokens) => [tokens.join("")], inner: (token) => token }),
  ByteLevel: () => ({
    chain: (tokens) => [textOfBytes(Buffer.concat(tokens.map(tokenBytes)))],
    inner: tokenBytes,
  }),
  ByteFallback: () => ({ chain: byteRuns, inner: innerByte }),
  Replace: (part) => each(replacer(part)),
  Strip: strip,
  Metaspace: metaspace,
  WordPiece: wordPiece,
};

function each(change: (token: string) => string): Step {
  return { chain: (tokens) => tokens.map(change), inner: change };
}

function textOfBytes(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function innerByte(token: string): string | Uint8Array {
  const byte = tokenByte(token);
  return byte === undefined ? token : Uint8Array.of(byte);
}

/** Bytes in a row are a text, or none of it is. */
function byteRuns(tokens: readonly string[]): string[] {
  const made: string[] = [];
  let run: number[] = [];
  const end = () => {
    if (run.length > 0) made.push(runText(Uint8Array.from(run)));
    run = [];
  };
  for (const token of tokens) {
    const byte = tokenByte(token);
    if (byte === undefined) {
      end();
      made.push(token);
    } else run.push(byte);
  }
  end();
  return made;
}

function runText(bytes: Uint8Array): string {
  const text = textOfBytes(bytes);
  return Buffer.from(text).equals(bytes) ? text : "\uFFFD".repeat(bytes.length);
}

function strip(part: Config): Step {
  const content = characterOf(part, "content");
  const [start, stop] = [countOf(part, "start"), countOf(part, "stop")];
  const change = (token: string) => {
    const characters = [...token];
    let from = 0;
    let to = characters.length;
    while (from < Math.min(start, to) && characters[from] === content) from++;
    for (let i = 0; i < stop && to > 0 && characters[to - 1] === content; i++) to--;
    return characters.slice(from, to).join("");
  };
  return { chain: (tokens) => tokens.map(change), inner: (token) => token, dropsSpace: true };
}

function metaspace(part: Config): Step {
  const space = characterOf(part, "replacement");
  const dropsSpace = prependScheme(part) !== "never";
  const inner = (token: string) => token.replaceAll(space, () => " ");
  return {
    ...{ inner, dropsSpace },
    chain: (tokens) =>
      tokens.map((token, i) =>
        i === 0 && dropsSpace ? token.replaceAll(space, () => "") : inner(token),
      ),
  };
}

function wordPiece(part: Config): Step {
  const prefix = textOf(part, "prefix", "##");
  const change = flagOf(part, "cleanup", true) ? cleaned : (token: string) => token;
  const inner = (token: string) =>
    change(token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`);
  return {
    ...{ inner, dropsSpace: true },
    chain: (tokens) => tokens.map((token, i) => (i === 0 ? change(token) : inner(token))),
  };
}

function cleaned(token: string): string {
  return withoutSpaces(token, [" do not", " don't"]);
}

/** Takes spaces before marks and endings of words away. */
export function withoutSpaces(text: string, ...others: [from: string, to: string][]): string {
  const pairs: [string, string][] = [
    ...[".", "?", "!", ","].map((mark): [string, string] => [` ${mark}`, mark]),
    [" ' ", "'"],
    ...["n't", "'m"].map((ending): [string, string] => [` ${ending}`, ending]),
    ...others,
    ...["'s", "'ve", "'re"].map((ending): [string, string] => [` ${ending}`, ending]),
  ];
  return pairs.reduce((left, [from, to]) => left.replaceAll(from, () => to), text);
}
