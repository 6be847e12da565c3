import { tokenByte, tokenBytes } from "../byteTokens.ts";
import {
  type Config,
  characterOf,
  countOf,
  flagOf,
  optionalComponent,
  components,
  makeComponent,
  textOf,
} from "./config.ts";
import { replacer } from "./normalizer.ts";
import { prependScheme } from "./preTokenizer.ts";

export interface Decoder {
  text: (tokens: readonly string[]) => string;
  /** UTF-8 that a token adds, except at a text's start. */
  bytesOf: (token: string) => Uint8Array;
  /** Whether decoding drops a text's leading space. */
  dropsSpace: boolean;
}

interface Step {
  decode: (tokens: readonly string[]) => string[];
  /** The same for a single token that isn't a text's first; bytes for a byte token. */
  inner: (token: string) => string | Uint8Array;
  dropsSpace?: boolean;
}

/** @param file `tokenizer.json` */
export function createDecoder(file: Config): Decoder {
  const part = optionalComponent(file, "decoder");
  const steps = part ? stepsOf(part) : [SPACES_BETWEEN];
  return {
    text: (tokens) => steps.reduce((decoded, { decode }) => decode(decoded), [...tokens]).join(""),
    bytesOf(token) {
      let decoded: string | Uint8Array = token;
      for (const { inner } of steps) {
        if (typeof decoded === "string") decoded = inner(decoded);
      }
      return typeof decoded === "string" ? Buffer.from(decoded) : decoded;
    },
    dropsSpace: steps.some(({ dropsSpace }) => dropsSpace),
  };
}

/** The default decoder. */
const SPACES_BETWEEN: Step = {
  decode: (tokens) => [tokens.join(" ")],
  inner: (token) => ` ${token}`,
  dropsSpace: true,
};

function stepsOf(part: Config): Step[] {
  if (part["type"] === "Sequence") return components("decoder", part, "decoders").flatMap(stepsOf);
  return [makeComponent(FACTORIES, "decoder", part)];
}

const FACTORIES: Record<string, (part: Config) => Step> = {
  Fuse: () => ({ decode: (tokens) => [tokens.join("")], inner: (token) => token }),
  ByteLevel: () => ({
    decode: (tokens) => [textOfBytes(Buffer.concat(tokens.map(tokenBytes)))],
    inner: tokenBytes,
  }),
  ByteFallback: () => ({ decode: decodeByteRuns, inner: decodeByte }),
  Replace: (part) => eachToken(replacer(part)),
  Strip: strip,
  Metaspace: metaspace,
  WordPiece: wordPiece,
};

function eachToken(change: (token: string) => string): Step {
  return { decode: (tokens) => tokens.map(change), inner: change };
}

function textOfBytes(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function decodeByte(token: string): string | Uint8Array {
  const byte = tokenByte(token);
  return byte === undefined ? token : Uint8Array.of(byte);
}

/** Decodes runs of byte tokens. A run that isn't valid UTF-8 becomes U+FFFD for each byte. */
function decodeByteRuns(tokens: readonly string[]): string[] {
  const texts: string[] = [];
  let run: number[] = [];
  const end = () => {
    if (run.length > 0) texts.push(runText(Uint8Array.from(run)));
    run = [];
  };
  for (const token of tokens) {
    const byte = tokenByte(token);
    if (byte === undefined) {
      end();
      texts.push(token);
    } else run.push(byte);
  }
  end();
  return texts;
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
  return {
    decode: (tokens) => tokens.map(change),
    inner: (token) => token,
    dropsSpace: true,
  };
}

function metaspace(part: Config): Step {
  const space = characterOf(part, "replacement");
  const dropsSpace = prependScheme(part) !== "never";
  const inner = (token: string) => token.replaceAll(space, () => " ");
  return {
    inner,
    dropsSpace,
    decode: (tokens) =>
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
    inner,
    dropsSpace: true,
    decode: (tokens) => tokens.map((token, i) => (i === 0 ? change(token) : inner(token))),
  };
}

function cleaned(token: string): string {
  return cleanUpSpaces(token, [" do not", " don't"]);
}

/** Removes spaces before punctuation and contractions, as `clean_up_tokenization_spaces` does. */
export function cleanUpSpaces(text: string, ...others: [from: string, to: string][]): string {
  const pairs: [string, string][] = [
    ...[".", "?", "!", ","].map((mark): [string, string] => [` ${mark}`, mark]),
    [" ' ", "'"],
    ...["n't", "'m"].map((ending): [string, string] => [` ${ending}`, ending]),
    ...others,
    ...["'s", "'ve", "'re"].map((ending): [string, string] => [` ${ending}`, ending]),
  ];
  return pairs.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, () => to), text);
}
