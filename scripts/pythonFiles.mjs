// Copies the Python engine's own Python files and its lock into the folder that is named. A part of `npm run build`.
import { cpSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./files.mjs";

const ENGINE = join("engines", "python");

const outDir = resolve(process.argv[2] ?? join(ROOT, "dist"));
for (const name of readdirSync(join(ROOT, ENGINE), { recursive: true, encoding: "utf8" })) {
  if (/\.(py|txt)$/.test(name)) cpSync(join(ROOT, ENGINE, name), join(outDir, ENGINE, name));
}
