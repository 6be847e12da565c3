import { isRecord } from "../../../protocol/isRecord.ts";
import { byteText } from "../byteTokens.ts";
import { createCharsmap } from "./charsmap.ts";
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
  Nmt: () => nmt,
  BertNormalizer: bert,
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

/** Takes control characters away, and makes others spaces, as for machine translation. */
function nmt(text: string): string {
  return text
    .replace(/[\u0001-\u0008\u000B\u000E-\u001F\u007F\u008F\u009F]/g, "")
    .replace(/[\t\n\f\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD]/g, " ");
}

const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;

function bert(part: Config): Normalize {
  const lowers = flagOf(part, "lowercase");
  const strips = flagOf(
    { ...part, strip_accents: part["strip_accents"] ?? lowers },
    "strip_accents",
  );
  const cleans = flagOf(part, "clean_text");
  const spaces = flagOf(part, "handle_chinese_chars");
  return (text) => {
    let normalized = text;
    if (cleans) {
      normalized = normalized
        .replace(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\0\uFFFD]/gu, "")
        .replace(/\p{White_Space}/gu, " ");
    }
    if (spaces) normalized = normalized.replace(CHINESE, " $& ");
    if (strips) normalized = normalized.normalize("NFD").replace(/\p{Mn}/gu, "");
    return lowers ? lowercase(normalized) : normalized;
  };
}
