import { isKitError, messageOf } from "../../protocol/error.ts";
import { stringifyJson } from "../../protocol/json.ts";
import { printableLines } from "../../protocol/printable.ts";

/** Set while an error would have to be JSON. */
let print: ((value: unknown) => void) | undefined;

/**
 * For `--json`: only JSON goes to stdout, all other output to stderr.
 * @returns a function that prints the command's only value, indented
 */
export function openJsonOutput(): (value: unknown) => void {
  const printText = takeStdout();
  const printValue = (value: unknown) => printText(JSON.stringify(value, undefined, 2));
  print = printValue;
  return (value) => {
    print = undefined;
    printValue(value);
  };
}

/** Like {@link openJsonOutput}, for values of a line each, which may be JSON text already. */
export function openJsonLines() {
  const printText = takeStdout();
  const printValue = (value: unknown) => printText(stringifyJson(value) ?? "null");
  print = printValue;
  return { printValue, printText };
}

/** With `--json`, prints an error, unless the command's only value has been printed. */
export function printJsonError(error: unknown): void {
  const code = isKitError(error) ? error.code : undefined;
  print?.({ error: { code, message: messageOf(error) } });
}

function takeStdout(): (text: string) => void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return (text) => void write(`${printableLines(text)}\n`);
}
