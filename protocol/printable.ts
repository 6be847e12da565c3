/** C0 and C1 control characters, and the marks that change the direction of the text around them. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const SHORT_ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes control characters for a terminal. */
export function printable(text: string): string {
  return text.replace(CONTROL, (sign) => SHORT_ESCAPES[sign] ?? escapeCharacter(sign));
}

/** Like {@link printable}, but keeps line ends. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/**
 * Formats text that Kit did not write as one message in the terminal: indents further lines, so that none
 * looks like Kit's own.
 */
export function printableNote(text: string): string {
  return printableLines(text.trimEnd()).replaceAll(/\n(?! {2})/g, "\n  ");
}

/** As in JSON: `\u003c`. */
export function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
