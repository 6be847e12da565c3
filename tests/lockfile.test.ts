import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createProject } from "./project.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOUND = { version: "1.0.0", integrity: `sha512-${"A".repeat(86)}==` };

/** What the check of the lockfile prints, which `npm start` and `npm test` run before `npm ci`. */
function suspects(...file: string[]): string[] {
  const words = [join(ROOT, "scripts/lockfile.mjs"), ...file];
  const printed = execFileSync(process.execPath, words, { encoding: "utf8" });
  return printed.split("\n").filter((line) => line !== "");
}

test("package-lock.json holds packages of the registry alone, pinned by their content", () => {
  expect(suspects()).toEqual([]);
});

test("an entry that brings in anything else is found", () => {
  const hostile: [path: string, entry: object, why: string][] = [
    [
      "a",
      { ...SOUND, resolved: "https://x.org/a.tgz" },
      "comes from an address, https://x.org/a.tgz",
    ],
    ["b", { ...SOUND, resolved: "git+ssh://x.org/b" }, "comes from an address, git+ssh://x.org/b"],
    [
      "c",
      { ...SOUND, version: "git+https://x.org/c" },
      'has no version of the registry, but "git+https://x.org/c"',
    ],
    ["d", { ...SOUND, version: "file:../d" }, 'has no version of the registry, but "file:../d"'],
    ["e", { version: "1.0.0" }, "is not pinned by a SHA-512 of its content"],
    [
      "f",
      { ...SOUND, integrity: "sha1-qUVZu9gVB4rc3U4jMJNgdLCaKBQ=" },
      "is not pinned by a SHA-512 of its content",
    ],
    ["g", { ...SOUND, hasInstallScript: true }, "runs a script when it is installed"],
    [
      "esbuild/node_modules/h",
      { ...SOUND, hasInstallScript: true },
      "runs a script when it is installed",
    ],
    ["i", { link: true }, "is a link"],
  ];
  const sound = [
    ["j", SOUND],
    ["@k/l", { ...SOUND, version: "1.0.0-rc.1" }],
    ["esbuild", { ...SOUND, hasInstallScript: true }],
  ] as const;
  const entries = [...sound, ...hostile].map(([name, entry]) => [`node_modules/${name}`, entry]);
  const file = join(createProject(), "package-lock.json");
  writeFileSync(
    file,
    JSON.stringify({ packages: { "": {}, "../m": SOUND, ...Object.fromEntries(entries) } }),
  );
  expect(suspects(file)).toEqual([
    "../m lies outside of node_modules",
    ...hostile.map(([name, , why]) => `node_modules/${name} ${why}`),
  ]);
});

test("npm takes no version younger than seven days, and nothing from git or an address", () => {
  const settings = readFileSync(join(ROOT, ".npmrc"), "utf8").split("\n");
  expect(settings).toEqual(
    expect.arrayContaining(["min-release-age=7", "allow-git=none", "allow-remote=none"]),
  );
});
