// What npm packs, it takes as it lies there. The pictures would be two thirds of the package, so its
// pages go without: `out` before packing, `back` after it.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const PAGES = ["README.md", "docs/page.md"];
const PICTURE = /^!\[.*\]\(.*\.png\)\n\n/gm;
/** Outside of what is packed. */
const KEPT = join("node_modules", ".pictures");

// Also before packing: an earlier one may have been interrupted.
for (const page of PAGES) if (existsSync(join(KEPT, page))) cpSync(join(KEPT, page), page);
rmSync(KEPT, { recursive: true, force: true });

if (process.argv[2] === "out") {
  for (const page of PAGES) {
    mkdirSync(dirname(join(KEPT, page)), { recursive: true });
    cpSync(page, join(KEPT, page));
    writeFileSync(page, readFileSync(page, "utf8").replace(PICTURE, ""));
  }
}
