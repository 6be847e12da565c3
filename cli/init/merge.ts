import { type PackageJson, SECTIONS, parsePackageJson } from "../packages/packageJson.ts";
import { haveSameLines } from "./content.ts";

/** A project's file after adding the template's parts. */
export interface Merged {
  /** Unchanged if there is nothing to add. */
  text: string;
  /** The parts that were missing. */
  added: string[];
  /** The parts that differ from the template. */
  leftAlone: string[];
}

/** Adds scripts and dependencies in the file's own indentation and line ends, as npm does. */
export function mergePackageJson(text: string, templateText: string): Merged {
  const packageJson = parsePackageJson(text);
  // `kit init` has refused an invalid one already.
  if (!packageJson) return { text, added: [], leftAlone: [] };
  const template = JSON.parse(templateText) as PackageJson;
  const added: string[] = [];
  const leftAlone = [template.name, undefined].includes(packageJson.name) ? [] : ["name"];
  for (const section of SECTIONS) {
    for (const [name, value] of Object.entries(template[section] ?? {})) {
      const existing = findEntry(packageJson, section, name);
      if (existing === undefined) {
        packageJson[section] = { ...packageJson[section], [name]: value };
        added.push(`${section}.${name}`);
      } else if (existing !== value) {
        leftAlone.push(`${section}.${name}`);
      }
    }
  }
  for (const [name, value] of Object.entries(template.allowScripts ?? {})) {
    // Keep the project's own decision for the package or for one version of it.
    const decided = Object.keys(packageJson.allowScripts ?? {});
    if (decided.some((key) => key === name || key.startsWith(`${name}@`))) continue;
    packageJson.allowScripts = { ...packageJson.allowScripts, [name]: value };
    added.push(`allowScripts.${name}`);
  }
  return { text: added.length > 0 ? formatLike(text, packageJson) : text, added, leftAlone };
}

/** Adds missing lines at the end. Treats `/.kit` and `.kit/` as equal. */
export function mergeGitignore(text: string, templateText: string): Merged {
  const present = new Set(linesOf(text).map(withoutSlashes));
  const added = linesOf(templateText).filter((line) => !present.has(withoutSlashes(line)));
  const lineEnd = lineEndOf(text);
  const start = added.length === 0 || text === "" || text.endsWith("\n") ? text : text + lineEnd;
  return { text: start + added.map((line) => line + lineEnd).join(""), added, leftAlone: [] };
}

/** Keeps the project's tsconfig; reports the omitted script. */
export function keepTsconfig(text: string, templateText: string): Merged {
  const leftAlone = haveSameLines(text, templateText) ? [] : ["no typecheck script added"];
  return { text, added: [], leftAlone };
}

/** Adds a setting and the lines indented below it, unless the file has that setting. */
export function mergeSetting(text: string, templateText: string): Merged {
  const [name = ""] = templateText.split(":");
  if (text.replaceAll("\r\n", "\n").includes(templateText))
    return { text, added: [], leftAlone: [] };
  if (new RegExp(`^${name}:`, "m").test(text)) return { text, added: [], leftAlone: [name] };
  const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return { text: start + templateText, added: [name], leftAlone: [] };
}

/** A package counts as present in either kind of dependencies. */
function findEntry(
  { scripts, dependencies, devDependencies }: PackageJson,
  section: (typeof SECTIONS)[number],
  name: string,
): string | undefined {
  return section === "scripts"
    ? scripts?.[name]
    : (dependencies?.[name] ?? devDependencies?.[name]);
}

function formatLike(text: string, packageJson: PackageJson): string {
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "";
  const [end = ""] = /\s*$/.exec(text) ?? [];
  return JSON.stringify(packageJson, null, indent).replaceAll("\n", lineEndOf(text)) + end;
}

function lineEndOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? "\n";
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

function withoutSlashes(line: string): string {
  return line.replace(/^(\*\*)?\//, "").replace(/\/$/, "");
}
