// `node scripts/lockfile.mjs [file]`: prints what package-lock.json may not say. It may name packages of
// the registry, pinned by their content.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./files.mjs";

/** The packages that may have an install script. `npm start` and `npm test` run none. */
const WITH_SCRIPTS = ["esbuild", "unrs-resolver"];
const VERSION = /^\d+\.\d+\.\d+(-[\w.-]+)?$/;
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;

/** Each entry that could bring in something else, in a sentence. */
export function findSuspects(file = join(ROOT, "package-lock.json")) {
  const { packages } = JSON.parse(readFileSync(file, "utf8"));
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (path === "") return [];
    const why = suspicionOf(path, entry);
    return why ? [`${path} ${why}`] : [];
  });
}

function suspicionOf(path, { version = "", resolved, integrity = "", link, hasInstallScript }) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  if (!path.startsWith("node_modules/")) return "lies outside of node_modules";
  if (link) return "is a link";
  if (resolved !== undefined) return `comes from an address, ${resolved}`;
  if (!VERSION.test(version)) return `has no version of the registry, but "${version}"`;
  if (!SHA512.test(integrity)) return "is not pinned by a SHA-512 of its content";
  if (hasInstallScript && !WITH_SCRIPTS.includes(name)) return "runs a script when it is installed";
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const suspect of findSuspects(process.argv[2])) console.log(suspect);
}
