// Checks that `npm ci` installs only packages of the registry, each by its hash. `npm start` and `npm test` check
// first.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const EXACT = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;
/** A package's path, ending in its name. */
const PACKAGE_PATH = /^(?:.+\/)?node_modules\/((?:@[\w.-]+\/)?[\w.-]+)$/;
/** A version range, possibly of a package under an alias. */
const REGISTRY_SPEC = /^(?:npm:(@?[^@:]+)@)?[^/:]*$/;

/** @returns a sentence for each entry that is not allowed */
export function lockProblems() {
  const read = (name) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  return problemsOf(read("package-lock.json"), read("package.json"));
}

/** @param allowScripts as in package.json: which packages may run an install script */
export function problemsOf({ lockfileVersion, packages }, { allowScripts = {} }) {
  const specs = Object.entries(packages).flatMap(([path, entry]) =>
    ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
      Object.entries(entry[kind] ?? {}).map(([name, spec]) => ({ path, name, spec })),
    ),
  );
  const aliases = new Set(
    specs.map(({ name, spec }) => `${name} ${REGISTRY_SPEC.exec(spec)?.[1]}`),
  );
  const { "": root, ...installed } = packages;
  return [
    ...(lockfileVersion === 3 && root ? [] : ["The lock is not of version 3."]),
    ...specs
      .filter(({ spec }) => !REGISTRY_SPEC.test(spec))
      .map(({ path, name, spec }) => `${path || "The project"} asks for ${name} at ${spec}.`),
    ...Object.entries(installed).flatMap(([path, entry]) =>
      entryProblems(path, entry, aliases, allowScripts).map((problem) => `${path} ${problem}.`),
    ),
  ];
}

function entryProblems(path, entry, aliases, allowScripts) {
  const [, name] = PACKAGE_PATH.exec(path) ?? [];
  const { name: real = name } = entry;
  return Object.entries({
    "is a folder, not a package of the registry": name === undefined || entry.link,
    "names an address of its own": entry.resolved !== undefined,
    "comes inside another package": entry.inBundle,
    "has no version": !EXACT.test(entry.version),
    "has no SHA-512 of its content": !SHA512.test(entry.integrity),
    [`is ${real}, which nobody asks for by that name`]:
      real !== name && !aliases.has(`${name} ${real}`),
    "runs a script when it is installed, which package.json's allowScripts does not know":
      entry.hasInstallScript && allowScripts[real] === undefined,
  }).flatMap(([problem, applies]) => (applies ? [problem] : []));
}
