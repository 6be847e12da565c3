import { type Manifest, SECTIONS, parseManifest } from "../packages/packageJson.ts";

/** A file of the project with what it lacked of the template's. */
export interface Merged {
  /** As it was where there is nothing to add. */
  text: string;
  /** Each part that was missing. */
  added: string[];
  /** Each part that says something else than the template. */
  kept: string[];
}

/** Adds scripts and dependencies in the file's own indentation and line ends, as npm does. */
export function mergeManifest(text: string, ours: string): Merged {
  const manifest = parseManifest(text);
  // Refused before anything was written.
  if (!manifest) return { text, added: [], kept: [] };
  const template = JSON.parse(ours) as Manifest;
  const added: string[] = [];
  const kept = [template.name, undefined].includes(manifest.name) ? [] : ["name"];
  for (const section of SECTIONS) {
    for (const [name, value] of Object.entries(template[section] ?? {})) {
      const existing = findEntry(manifest, section, name);
      if (existing === undefined) {
        manifest[section] = { ...manifest[section], [name]: value };
        added.push(`${section}.${name}`);
      } else if (existing !== value) {
        kept.push(`${section}.${name}`);
      }
    }
  }
  for (const [name, value] of Object.entries(template.allowScripts ?? {})) {
    // Judged already, as a whole or one version of it.
    const judged = Object.keys(manifest.allowScripts ?? {});
    if (judged.some((key) => key === name || key.startsWith(`${name}@`))) continue;
    manifest.allowScripts = { ...manifest.allowScripts, [name]: value };
    added.push(`allowScripts.${name}`);
  }
  return { text: added.length > 0 ? formatLike(text, manifest) : text, added, kept };
}

/** Adds lines at the end; `/.kit` leaves out what `.kit/` does. */
export function mergeGitignore(text: string, ours: string): Merged {
  const present = new Set(linesOf(text).map(withoutSlashes));
  const added = linesOf(ours).filter((line) => !present.has(withoutSlashes(line)));
  const lineEnd = lineEndOf(text);
  const start = added.length === 0 || text === "" || text.endsWith("\n") ? text : text + lineEnd;
  return { text: start + added.map((line) => line + lineEnd).join(""), added, kept: [] };
}

/** Adds nothing: says what the manifest does not get where the settings are not the template's. */
export function keepTsconfig(text: string, ours: string): Merged {
  return { text, added: [], kept: text === ours ? [] : ["no typecheck script added"] };
}

/** Adds a setting of one line and those indented below it, unless there is one of that name. */
export function mergeSetting(text: string, ours: string): Merged {
  const [name = ""] = ours.split(":");
  if (text.includes(ours)) return { text, added: [], kept: [] };
  if (new RegExp(`^${name}:`, "m").test(text)) return { text, added: [], kept: [name] };
  const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return { text: start + ours, added: [name], kept: [] };
}

/** A package that is a dependency of either kind is there. */
function findEntry(
  { scripts, dependencies, devDependencies }: Manifest,
  section: (typeof SECTIONS)[number],
  name: string,
): string | undefined {
  return section === "scripts"
    ? scripts?.[name]
    : (dependencies?.[name] ?? devDependencies?.[name]);
}

function formatLike(text: string, manifest: Manifest): string {
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "";
  const [end = ""] = /\s*$/.exec(text) ?? [];
  return JSON.stringify(manifest, null, indent).replaceAll("\n", lineEndOf(text)) + end;
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
