import jsonc from "jsonc-parser";

/** A problem in JSON text. */
export interface JsonProblem {
  /** The problem and its fix: two sentences, or one if the text isn't JSON at all. */
  problem: string;
  /** Offset of the first wrong character; the text's length if it ends too early. */
  offset: number;
}

/** A position in a text, as editors count. */
export interface TextPosition {
  /** From 1. */
  line: number;
  /** In characters, from 1. */
  column: number;
}

export function positionIn(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

/** @param text that `JSON.parse` refuses */
export function problemOfJson(text: string): JsonProblem {
  const error = firstError(text);
  return STRING_ERRORS.includes(error.code) ? inString(text, error) : outsideStrings(text, error);
}

type Container = "object" | "list";

interface JsonSyntaxError {
  code: number;
  offset: number;
  /** Open containers. */
  open: Container[];
}

/** The codes of `jsonc.ParseErrorCode`, which exists only as a type. */
const CODES = {
  propertyNameExpected: 3,
  valueExpected: 4,
  colonExpected: 5,
  commaExpected: 6,
  unexpectedEndOfString: 12,
  invalidUnicode: 14,
  invalidEscape: 15,
  invalidCharacter: 16,
};

const STRING_ERRORS = [
  CODES.unexpectedEndOfString,
  CODES.invalidUnicode,
  CODES.invalidEscape,
  CODES.invalidCharacter,
];

function firstError(text: string): JsonSyntaxError {
  const open: Container[] = [];
  let first: JsonSyntaxError | undefined;
  const close = (offset: number) => {
    // jsonc also calls this at the end of the text.
    if (offset < text.length) open.pop();
  };
  try {
    jsonc.visit(
      text,
      {
        onObjectBegin: () => void open.push("object"),
        onArrayBegin: () => void open.push("list"),
        onObjectEnd: close,
        onArrayEnd: close,
        onError(code, offset) {
          first ??= { code, offset, open: [...open] };
        },
      },
      { disallowComments: true, allowTrailingComma: false },
    );
  } catch (error) {
    // jsonc recurses for nested lists.
    if (!(error instanceof RangeError)) throw error;
  }
  return first ?? { code: 0, offset: text.length, open };
}

/** @param error whose offset is where the string begins */
function inString(text: string, { offset }: JsonSyntaxError): JsonProblem {
  const string = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/uy;
  string.lastIndex = offset;
  string.test(text);
  const at = string.lastIndex;
  const next = text.charAt(at);
  const problem = (words: string) => ({ problem: words, offset: at });
  if (text.slice(at).replace("\\", "") === "") {
    return { problem: "it ends inside a string. Complete it.", offset: text.length };
  }
  if (next === "\\") {
    const escape = String.fromCodePoint(text.codePointAt(at + 1) ?? 32);
    return problem(
      escape === "u"
        ? "\\u is not followed by four hexadecimal digits. Write \\\\ for a backslash."
        : `JSON does not have the escape \\${escaped(escape)}. Write \\\\ for a backslash.`,
    );
  }
  const [name, escape] = CONTROLS[next] ?? [
    `the control character ${codeOf(next)}`,
    escapeOf(next),
  ];
  return problem(`${name} inside a string. Write ${escape} there, and close every string.`);
}

const CONTROLS: Record<string, [name: string, escape: string]> = {
  "\n": ["a line break", "\\n"],
  "\r": ["a line break", "\\n"],
  "\t": ["a tab", "\\t"],
};

/** Other languages' literals, and JSON's. */
const FOREIGN_LITERALS: Record<string, string> = {
  None: "null",
  True: "true",
  False: "false",
  undefined: "null",
  NaN: "null or a number",
  Infinity: "null or a number",
};

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Z}]/u;

function outsideStrings(text: string, { code, offset, open }: JsonSyntaxError): JsonProblem {
  const rest = text.slice(offset);
  const [next = ""] = rest;
  const last = text.slice(0, offset).trimEnd().at(-1);
  const [word = ""] = /^-?[\p{L}_$][\p{L}\p{N}_$]*/u.exec(rest) ?? [];
  const problem = (words: string) => ({ problem: words, offset });
  if (rest.trim() === "") {
    const container = open.at(-1);
    const where = container === undefined ? "too early" : `inside ${ARTICLES[container]}`;
    return { problem: `it ends ${where}. Complete it.`, offset: text.length };
  }
  if (next === "'" || next === "`") {
    return problem(
      "a quote that is not JSON's. Write strings and keys in double quotes, as Python's json.dumps does.",
    );
  }
  if (/[\u2018-\u201f\u00ab\u00bb]/.test(next)) {
    return problem(`a curly quote, ${next}. Write straight ones, ".`);
  }
  if (INVISIBLE.test(next)) {
    return problem(`an invisible character, ${codeOf(next)}. Remove it.`);
  }
  if (next === "#" || /^\/[/*]/.test(rest)) {
    return problem("a comment, which JSON does not have. Remove it.");
  }
  if (last === undefined && !Object.hasOwn(FOREIGN_LITERALS, word))
    return problem(`it begins with ${firstWord(rest)}.`);
  if ((next === "}" || next === "]") && last === ",") {
    return problem(`a comma before ${next}. Remove the comma.`);
  }
  if (open.length === 0 && last !== undefined) return problem(afterEnd(next));
  const plain = word.replace("-", "");
  if (Object.hasOwn(FOREIGN_LITERALS, plain)) {
    return problem(`${word}, which JSON does not have. Write ${FOREIGN_LITERALS[plain]}.`);
  }
  if (word !== "" && last === '"') {
    return problem('the quote before this ends the string. Write \\" for a quote inside a string.');
  }
  if (/^[-+.]?[\d.]/.test(rest) || /\d$/.test(text.slice(0, offset))) {
    return problem("a number that JSON does not have. Write numbers such as 0.5, 12 or -1e6.");
  }
  if (word !== "")
    return problem("a word without quotes. Write strings and keys in double quotes.");
  return problem(MISSING[code] ?? `${escaped(next)}, which cannot stand here. Remove it.`);
}

const ARTICLES = { object: "an object", list: "a list" };

const MISSING: Record<number, string> = {
  [CODES.propertyNameExpected]: 'a key is missing. Write "key": value.',
  [CODES.valueExpected]: "a value is missing. Write it, or remove what needs it.",
  [CODES.colonExpected]: "a colon is missing. Write one between key and value.",
  [CODES.commaExpected]: "a comma is missing. Write one before this.",
};

function afterEnd(next: string): string {
  if (next === "{" || next === "[") {
    return 'another value begins here. Write each on a line of its own, as "jq -c ." does.';
  }
  if (next === ",") return "a comma after the end. Remove it.";
  if (next === "}" || next === "]") return `one ${next} too many. Remove it.`;
  return "something follows the end. Remove it.";
}

/** The first word, or a few characters. */
function firstWord(text: string): string {
  const [first = ""] = /^[\p{L}\p{N}_]{1,20}/u.exec(text) ?? text;
  return escaped(first);
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function codeOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}
