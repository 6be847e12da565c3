/** The lines beneath a command's help. */
export function examples(lines: Record<string, string>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const shown = Object.entries(lines).map(([line, effect]) => `  ${line.padEnd(width)}  ${effect}`);
  return ["", "Examples:", ...shown].join("\n");
}
