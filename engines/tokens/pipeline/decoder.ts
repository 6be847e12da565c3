import { tokenByte, tokenBytes } from "../byteTokens.ts";
import {
  type Config,
  characterOf,
  countOf,
  flagOf,
  optionalComponent,
  components,
  textOf,
  unknownType,
} from "./config.ts";
import { replacer } from "./normalizer.ts";
import { prependScheme } from "./preTokenizer.ts";

export interface Decoder {
  text: (tokens: readonly string[]) => string;
  /** What a token adds within a text. */
  bytesOf: (token: string) => Uint8Array;
  /** Whether a text drops its first token's leading space. */
  dropsSpace: boolean;
}

interface Step {
  chain: (tokens: readonly string[]) => string[];
  /** The same for one token within a text; bytes for a byte token. */
  inner: (token: string) => string | Uint8Array;
  dropsSpace?: boolean;
}

/** @param file `tokenizer.json` */
export function createDecoder(file: Config): Decoder {
  const part = optionalComponent(file, "decoder");
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

/** The default decoder. */
const SPACES_BETWEEN: Step = {
  chain: (tokens) => [tokens.join(" ")],
  inner: (token) => ` ${token}`,
  dropsSpace: true,
};

function stepsOf(part: Config): Step[] {
  if (part["type"] === "Sequence") return components("decoder", part, "decoders").flatMap(stepsOf);
  const make = Object.hasOwn(FACTORIES, String(part["type"])) && FACTORIES[String(part["type"])];
  if (!make) throw unknownType("decoder", part);
  return [make(part)];
}

const FACTORIES: Record<string, (part: Config) => Step> = {
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

/** A run of byte tokens is valid UTF-8 as a whole, or all of it becomes U+FFFD. */
function byteRuns(tokens: readonly string[]): string[] {
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
  return { chain: (tokens) => tokens.map(change), inner: (token) => token, dropsSpace: true };
}

function metaspace(part: Config): Step {
  const space = characterOf(part, "replacement");
  const dropsSpace = prependScheme(part) !== "never";
  const inner = (token: string) => token.replaceAll(space, () => " ");
  return {
    inner,
    dropsSpace,
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
    inner,
    dropsSpace: true,
    chain: (tokens) => tokens.map((token, i) => (i === 0 ? change(token) : inner(token))),
  };
}

function cleaned(token: string): string {
  return cleanUpSpaces(token, [" do not", " don't"]);
}

/** Removes spaces before punctuation and contractions, as `clean_up_tokenization_spaces`. */
export function cleanUpSpaces(text: string, ...others: [from: string, to: string][]): string {
  const pairs: [string, string][] = [
    ...[".", "?", "!", ","].map((mark): [string, string] => [` ${mark}`, mark]),
    [" ' ", "'"],
    ...["n't", "'m"].map((ending): [string, string] => [` ${ending}`, ending]),
    ...others,
    ...["'s", "'ve", "'re"].map((ending): [string, string] => [` ${ending}`, ending]),
  ];
  return pairs.reduce((left, [from, to]) => left.replaceAll(from, () => to), text);
}
