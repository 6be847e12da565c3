import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ENGINE = fileURLToPath(new URL("../../../engines/python/kit_engine/", import.meta.url));
const IMPORT = /^ *from (\.+)([\w.]+) import/gm;
/** What each folder may import from, besides itself. */
const ROOMS: Record<string, string[]> = {
  process: [],
  model: ["process"],
  data: ["process", "model"],
  train: ["process", "model", "data"],
  answer: ["process", "model", "data"],
};

const files = readdirSync(ENGINE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".py"))
  .map((name) => name.slice(0, -".py".length).split("/"));

/** The modules that one imports, each as its path's parts. */
function importsOf(module: readonly string[]): string[][] {
  const source = readFileSync(`${ENGINE}${module.join("/")}.py`, "utf8");
  return [...source.matchAll(IMPORT)].map(([, dots = "", path = ""]) => {
    const found = [...module.slice(0, -dots.length), ...path.split(".")];
    const isFile = files.some((one) => one.join("/") === found.join("/"));
    return isFile ? found : [...found, "__init__"];
  });
}

it("kit_engine's folders import one way, and no module imports itself through others", () => {
  const done = new Set<string>();
  function visit(module: readonly string[], path: readonly string[]): void {
    const name = module.join("/");
    expect(path).not.toContain(name);
    if (done.has(name)) return;
    for (const one of importsOf(module)) visit(one, [...path, name]);
    done.add(name);
  }
  expect(files.length).toBeGreaterThan(40);
  for (const module of files) {
    visit(module, []);
    const [room = ""] = module;
    for (const [other = ""] of importsOf(module)) {
      if (module.length > 1) expect([room, ...(ROOMS[room] ?? [])]).toContain(other);
    }
  }
});
