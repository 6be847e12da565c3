import { styleText } from "node:util";

export type Style = "bold" | "dim" | "green" | "red";

/**
 * Styles each line where the stream has colours: on a terminal, unless `NO_COLOR` or `FORCE_COLOR` says
 * otherwise.
 */
export function styled(
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return text.replaceAll(/.+/g, (line) => styleText(style, line, { stream }));
}
