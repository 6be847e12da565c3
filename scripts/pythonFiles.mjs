// Copies the engines' Python files and the Python engine's lock into the given folder. Part of `npm run build`.
import { cpSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./files.mjs";

const ENGINES = ["python", "ray"].map((name) => join("engines", name));

const outDir = resolve(process.argv[2] ?? join(ROOT, "dist"));
for (const engine of ENGINES) {
  for (const name of readdirSync(join(ROOT, engine), { recursive: true, encoding: "utf8" })) {
    if (/\.(py|txt)$/.test(name)) cpSync(join(ROOT, engine, name), join(outDir, engine, name));
  }
}
