import { isRecord } from "../../../protocol/isRecord.ts";
import { byteText } from "../byteTokens.ts";
import {
  type Config,
  Unsupported,
  flagOf,
  optionalComponent,
  components,
  makeComponent,
  textOf,
} from "./config.ts";
import { findPattern } from "./pattern.ts";

/** Normalizes a text before pre-tokenization. */
export type Normalize = (text: string) => string;

/** @param file `tokenizer.json` @returns undefined without a normalizer */
export function createNormalizer(file: Config): Normalize | undefined {
  const part = optionalComponent(file, "normalizer");
  return part && normalizeOf(part);
}

function normalizeOf(part: Config): Normalize {
  return makeComponent(FACTORIES, "normalizer", part);
}

const FACTORIES: Record<string, (part: Config) => Normalize> = {
  Sequence(part) {
    const steps = components("normalizer", part, "normalizers").map(normalizeOf);
    return (text) => steps.reduce((normalized, step) => step(normalized), text);
  },
  NFC: () => (text) => text.normalize("NFC"),
  NFD: () => (text) => text.normalize("NFD"),
  NFKC: () => (text) => text.normalize("NFKC"),
  NFKD: () => (text) => text.normalize("NFKD"),
  Lowercase: () => lowercase,
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ""),
  ByteLevel: () => byteText,
  Replace: (part) => replacer(part, false),
  Precompiled: (part) => createCharsmap(textOf(part, "precompiled_charsmap")),
  Prepend(part) {
    const prefix = textOf(part, "prepend");
    return (text) => (text === "" ? "" : prefix + text);
  },
  Strip(part) {
    const [left, right] = [flagOf(part, "strip_left"), flagOf(part, "strip_right")];
    return (text) => {
      const start = left ? text.replace(/^\p{White_Space}+/u, "") : text;
      return right ? start.replace(/\p{White_Space}+$/u, "") : start;
    };
  },
};

/** Steps that never remove a text's first character. */
const START_PRESERVING = new Set([
  "NFC",
  "NFD",
  "NFKC",
  "NFKD",
  "Lowercase",
  "Prepend",
  "ByteLevel",
]);

/** Whether the first character of a normalized text always comes from the original's first character. */
export function preservesStart(file: Config): boolean {
  const part = optionalComponent(file, "normalizer");
  return !part || stepPreservesStart(part);
}

function stepPreservesStart(part: Config): boolean {
  const { type, pattern, content } = part;
  if (type === "Sequence") {
    return components("normalizer", part, "normalizers").every(stepPreservesStart);
  }
  if (type !== "Replace") return START_PRESERVING.has(String(type));
  const { String: text } = isRecord(pattern) ? pattern : {};
  return typeof text === "string" && [...text].length === 1 && content !== "";
}

/** Lowercases each character alone, without the final sigma rule. */
function lowercase(text: string): string {
  return text
    .split("Σ")
    .map((part) => part.toLowerCase())
    .join("σ");
}

/** Replaces each match of a pattern with a text. */
export function replacer(part: Config, allowsEmptyMatch = true): Normalize {
  const find = findPattern(part["pattern"]);
  const content = textOf(part, "content");
  return (text) => {
    let replaced = "";
    let end = 0;
    for (const [from, to] of find(text)) {
      if (from === to && !allowsEmptyMatch)
        throw new Unsupported("a Replace whose pattern matches the empty text");
      replaced += text.slice(end, from) + content;
      end = to;
    }
    return replaced + text.slice(end);
  };
}

/** Longer grapheme clusters are replaced character by character. */
const MAX_CLUSTER_BYTES = 5;

/**
 * SentencePiece's precompiled character map: a double-array trie (Darts) of 32-bit units after its size
 * in bytes, then null-terminated replacements.
 * @param encoded the map in base64
 */
function createCharsmap(encoded: string): Normalize {
  const bytes = Buffer.from(encoded, "base64");
  const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  if (size === 0 || size % 4 !== 0 || 4 + size > bytes.length) {
    throw new Error('its "precompiled_charsmap" is damaged');
  }
  const units = Uint32Array.from({ length: size / 4 }, (_, i) => bytes.readUInt32LE(4 + 4 * i));
  const texts = bytes.subarray(4 + size);
  const clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

  /** The offset of the replacement of the shortest prefix that has one. */
  function replacementOffset(part: Uint8Array): number | undefined {
    let position = offsetOf(units[0] ?? 0);
    for (const byte of part) {
      if (byte === 0) return undefined;
      position ^= byte;
      const unit = units[position] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return undefined;
      position ^= offsetOf(unit);
      if (((unit >>> 8) & 1) === 1) return (units[position] ?? 0) & 0x7fffffff;
    }
    return undefined;
  }

  function replaced(part: string): string | undefined {
    const position = replacementOffset(Buffer.from(part));
    if (position === undefined) return undefined;
    const end = texts.indexOf(0, position);
    return texts.subarray(position, end < 0 ? undefined : end).toString();
  }

  function clusterText(cluster: string): string {
    const isShort = Buffer.byteLength(cluster) <= MAX_CLUSTER_BYTES;
    const whole = isShort ? replaced(cluster) : undefined;
    return whole ?? Array.from(cluster, (character) => replaced(character) ?? character).join("");
  }

  return (text) =>
    Array.from(clusters.segment(text), ({ segment }) => clusterText(segment)).join("");
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
