import { isRecord } from "../../../protocol/isRecord.ts";
import { byteText } from "../byteTokens.ts";
import {
  type Config,
  UnknownPart,
  flagOf,
  optionalPart,
  partsOf,
  textOf,
  unknownType,
} from "./parts.ts";
import { findPattern } from "./pattern.ts";

/** Changes a text before it is cut. */
export type Normalize = (text: string) => string;

/** @param file `tokenizer.json` @returns undefined where texts stay as they are */
export function createNormalizer(file: Config): Normalize | undefined {
  const part = optionalPart(file, "normalizer");
  return part && normalizeOf(part);
}

function normalizeOf(part: Config): Normalize {
  const make = Object.hasOwn(MAKERS, String(part["type"])) && MAKERS[String(part["type"])];
  if (!make) throw unknownType("normalizer", part);
  return make(part);
}

const MAKERS: Record<string, (part: Config) => Normalize> = {
  Sequence(part) {
    const steps = partsOf("normalizer", part, "normalizers").map(normalizeOf);
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
    const before = textOf(part, "prepend");
    return (text) => (text === "" ? "" : before + text);
  },
  Strip(part) {
    const [left, right] = [flagOf(part, "strip_left"), flagOf(part, "strip_right")];
    return (text) => {
      const begun = left ? text.replace(/^\p{White_Space}+/u, "") : text;
      return right ? begun.replace(/\p{White_Space}+$/u, "") : begun;
    };
  },
};

/** Steps that leave a text's first character where it is. */
const KEEPERS = new Set(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Prepend", "ByteLevel"]);

/** Whether a normalized text surely begins where the text does, by Hugging Face's count. */
export function keepsStart(file: Config): boolean {
  const part = optionalPart(file, "normalizer");
  return !part || partKeepsStart(part);
}

function partKeepsStart(part: Config): boolean {
  const { type, pattern, content } = part;
  if (type === "Sequence") {
    return partsOf("normalizer", part, "normalizers").every(partKeepsStart);
  }
  if (type !== "Replace") return KEEPERS.has(String(type));
  const { String: text } = isRecord(pattern) ? pattern : {};
  return typeof text === "string" && [...text].length === 1 && content !== "";
}

/** Character by character: a sigma at a word's end is like any other. */
function lowercase(text: string): string {
  return text
    .split("Σ")
    .map((part) => part.toLowerCase())
    .join("σ");
}

/** Replaces what a pattern finds with the same text, each time. */
export function replacer(part: Config, takesEmpty = true): Normalize {
  const find = findPattern(part["pattern"]);
  const content = textOf(part, "content");
  return (text) => {
    let replaced = "";
    let end = 0;
    for (const [from, to] of find(text)) {
      if (from === to && !takesEmpty) throw new UnknownPart("a Replace of nothing");
      replaced += text.slice(end, from) + content;
      end = to;
    }
    return replaced + text.slice(end);
  };
}

/** Longer clusters are replaced character by character. */
const LONGEST_CLUSTER_BYTES = 5;

/**
 * Sentencepiece's replacements of characters: a trie in two arrays (Darts), as 32-bit numbers after
 * its size in bytes, and the texts, each up to a zero.
 * @param encoded the map in base 64
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

  /** Where the text that replaces a part lies: that of the shortest beginning which has one. */
  function placeOf(part: Uint8Array): number | undefined {
    let place = offsetOf(units[0] ?? 0);
    for (const byte of part) {
      if (byte === 0) return undefined;
      place ^= byte;
      const unit = units[place] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return undefined;
      place ^= offsetOf(unit);
      if (((unit >>> 8) & 1) === 1) return (units[place] ?? 0) & 0x7fffffff;
    }
    return undefined;
  }

  function replaced(part: string): string | undefined {
    const place = placeOf(Buffer.from(part));
    if (place === undefined) return undefined;
    const end = texts.indexOf(0, place);
    return texts.subarray(place, end < 0 ? undefined : end).toString();
  }

  function clusterText(cluster: string): string {
    const isShort = Buffer.byteLength(cluster) <= LONGEST_CLUSTER_BYTES;
    const whole = isShort ? replaced(cluster) : undefined;
    return whole ?? Array.from(cluster, (character) => replaced(character) ?? character).join("");
  }

  return (text) =>
    Array.from(clusters.segment(text), ({ segment }) => clusterText(segment)).join("");
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
