import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The clone's folder. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block of a page. */
export interface Snippet {
  language: string;
  /** The file that it is, where it begins with `// path` or `# path`. */
  path?: string;
  code: string;
}

export function readPage(name: string): string {
  return readFileSync(`${ROOT}/docs/${name}`, "utf8");
}

export function snippetsOf(page: string): Snippet[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", code = ""]) => {
    const [, path] = /^(?:\/\/|#) ([\w./]+\.\w+)\n/.exec(code) ?? [];
    return { language, path, code };
  });
}

/** The rows of the tables of a page, or only those below a heading, cell by cell. */
export function rowsOf(page: string, heading?: string): string[][] {
  const [, below = ""] = `\n${page}`.split(`\n${heading}\n`);
  const section = heading === undefined ? page : (below.split(/^#+ /m)[0] ?? "");
  return section
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|[ |:-]+\|$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim()),
    );
}

/** Text between backticks, without fenced blocks. */
export function codeIn(text = ""): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
