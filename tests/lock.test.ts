import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { problemsOf } from "../scripts/lock.mjs";
import { ROOT } from "./packed.ts";
import { createProject } from "./project.ts";

type Entry = Record<string, unknown>;
interface Lock {
  lockfileVersion: number;
  packages: Record<string, Entry>;
}

const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const readLock = () => JSON.parse(read("package-lock.json")) as Lock;

/** A clone as `npm start` finds it before anything is installed. */
function setUp(lock: Lock): string {
  const clone = createProject({
    "package.json": read("package.json"),
    "package-lock.json": JSON.stringify(lock),
    // Would be run in npm's place.
    "npm.mjs": `import { writeFileSync } from "node:fs"; writeFileSync("installed", process.argv.join(" ")); process.exit(3);`,
  });
  cpSync(join(ROOT, "scripts"), join(clone, "scripts"), { recursive: true });
  const { stderr } = spawnSync(process.execPath, ["scripts/start.mjs"], {
    cwd: clone,
    env: { ...process.env, npm_execpath: join(clone, "npm.mjs") },
    encoding: "utf8",
  });
  return existsSync(join(clone, "installed"))
    ? readFileSync(join(clone, "installed"), "utf8")
    : stderr;
}

test("the lock holds packages of the registry alone, which npm ci installs without their scripts", () => {
  expect(setUp(readLock())).toMatch(/ ci .*--ignore-scripts/);
});

const SHA1 = "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=";
const ADDRESS = "https://packages.example/vite.tgz";

test.each<[string, (packages: Lock["packages"], vite: Entry) => void, string]>([
  ["an address", (_, vite) => (vite["resolved"] = ADDRESS), "names an address of its own"],
  ["no hash", (_, vite) => delete vite["integrity"], "has no SHA-512"],
  ["a weak hash", (_, vite) => (vite["integrity"] = SHA1), "has no SHA-512"],
  [
    "a hash beside a weak one",
    (_, vite) => (vite["integrity"] = `${String(vite["integrity"])} ${SHA1}`),
    "has no SHA-512",
  ],
  ["an install script", (_, vite) => (vite["hasInstallScript"] = true), "runs a script when"],
  ["another package", (_, vite) => (vite["name"] = "vite-plus"), "is vite-plus, which nobody asks"],
  ["a link", (_, vite) => (vite["link"] = true), "is a folder, not a package"],
  ["a bundled package", (_, vite) => (vite["inBundle"] = true), "comes inside another package"],
  [
    "a range",
    (_, vite) => (vite["version"] = "git+ssh://git@github.com/a/b.git"),
    "has no version",
  ],
  [
    "a folder",
    (packages, vite) => (packages["templates/vite"] = vite),
    "is a folder, not a package",
  ],
  ...["git+https://example.org/a.git", "github:a/b", "a/b", "file:../a", ADDRESS].map(
    (spec): [string, (packages: Lock["packages"]) => void, string] => [
      `a dependency at ${spec}`,
      (packages) => (packages[""]!["devDependencies"] = { a: spec }),
      `The project asks for a at ${spec}.`,
    ],
  ),
])("nothing is installed from a lock with %s", (_, harm, told) => {
  const lock = readLock();
  harm(lock.packages, lock.packages["node_modules/vite"]!);
  const manifest = JSON.parse(read("package.json")) as object;
  expect(problemsOf(lock, manifest).join("\n")).toContain(told);
});

test("npm start says what it would install, and installs nothing of it", () => {
  const lock = readLock();
  delete lock.packages["node_modules/vite"]!["integrity"];
  expect(setUp(lock)).toMatch(
    /kit: package-lock\.json has entries that are not allowed[^]*vite has no SHA-512/,
  );
});

test("no install script is allowed but esbuild's, and npm takes no version younger than seven days", () => {
  const { allowScripts } = JSON.parse(read("package.json")) as { allowScripts: object };
  const allowed = Object.entries(allowScripts).filter(([, isAllowed]) => isAllowed);
  expect(allowed).toEqual([["esbuild", true]]);
  expect(read(".npmrc")).toMatch(/^min-release-age=7$/m);
});

test("packages whose insides Kit uses are pinned to one version", () => {
  const file = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;
  const all = { ...file["dependencies"], ...file["devDependencies"] };
  for (const name of ["@huggingface/jinja", "@huggingface/tokenizers", "hyparquet"]) {
    expect(all[name], name).toMatch(/^\d+\.\d+\.\d+$/);
  }
});

test("the Python engine's packages are each named with a version and its SHA-256", () => {
  const lines = read("engines/python/requirements.txt").replaceAll("\\\n", " ").trim().split("\n");
  expect(lines.length).toBeGreaterThan(30);
  for (const line of lines.filter((line) => !line.startsWith("#"))) {
    expect(line).toMatch(/^[\w.-]+==[\w.+!]+ (?:;[^#]*? )? *(?:--hash=sha256:[0-9a-f]{64}\s*)+$/);
  }
});
