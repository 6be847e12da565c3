// The pictures would be two thirds of the package, and npm packs files as they are. So its pages lose
// their pictures before packing (`out`) and get them back afterwards (`back`).
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const PAGES = ["README.md", "docs/page.md"];
const PICTURE = /^!\[.*\]\(.*\.png\)\n\n/gm;
/** npm does not pack this folder. */
const KEPT = join("node_modules", ".pictures");

// Before packing, too: an earlier run may have been interrupted.
for (const page of PAGES) if (existsSync(join(KEPT, page))) cpSync(join(KEPT, page), page);
rmSync(KEPT, { recursive: true, force: true });

if (process.argv[2] === "out") {
  for (const page of PAGES) {
    mkdirSync(dirname(join(KEPT, page)), { recursive: true });
    cpSync(page, join(KEPT, page));
    writeFileSync(page, readFileSync(page, "utf8").replace(PICTURE, ""));
  }
}
