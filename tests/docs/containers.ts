import { readFileSync } from "node:fs";

const DOCUMENT = new URL("../../docs/containers.md", import.meta.url);

/** The blocks of `docs/containers.md` in a language. */
export function snippets(language: string): string[] {
  const blocks = readFileSync(DOCUMENT, "utf8").matchAll(/^```(\w+)\n([^]*?)^```$/gm);
  return [...blocks].filter(([, found]) => found === language).map(([, , code = ""]) => code);
}
