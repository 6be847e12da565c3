import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { KitError, messageOf } from "../../protocol/error.ts";
import { PACKAGE } from "../package.ts";

/** npm leaves `.gitignore` out of a package, so the template has it under another name. */
const RENAMED: Record<string, string> = { gitignore: ".gitignore" };

/** Copies the quickstart into a folder; what is there already stays as it is. */
export function init(directory: string, options: { name?: string }): void {
  const target = resolve(directory);
  const template = join(PACKAGE.templates, "quickstart");
  const kept: string[] = [];
  try {
    for (const name of listFiles(template)) {
      const path = join(target, RENAMED[name] ?? name);
      if (existsSync(path)) {
        kept.push(relative(target, path));
        continue;
      }
      mkdirSync(dirname(path), { recursive: true });
      if (name === "package.json") writeManifest(join(template, name), path, options.name);
      else cpSync(join(template, name), path);
    }
  } catch (error) {
    throw new KitError(
      "CANNOT_WRITE",
      `Cannot write into ${target}: ${messageOf(error)}. Make the folder writable, or name another.`,
      { cause: error },
    );
  }
  console.log(`created a Kit project in ${target}`);
  if (kept.length > 0) console.log(`kept as they were: ${kept.join(", ")}`);
  const folder = relative(process.cwd(), target);
  console.log(`next: ${folder ? `cd ${folder} && ` : ""}npx kit ui`);
}

function writeManifest(from: string, to: string, name: string | undefined): void {
  const manifest = JSON.parse(readFileSync(from, "utf8")) as Record<string, unknown>;
  manifest.name = name ?? packageName(basename(dirname(to)));
  writeFileSync(to, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** A folder's name as npm allows it for a package. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-_.]+/g, "-")
    .replace(/^[-_.]+|-+$/g, "");
  return name || "kit-project";
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
}
