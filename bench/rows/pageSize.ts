import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { atMost } from "../goals.ts";
import { ROOT } from "../paths.ts";
import type { Row } from "../row.ts";

const KILO = 1e3;

export const pageSize: Row = {
  number: 14,
  work: "page's JavaScript and CSS, brotli",
  measure() {
    const assets = join(ROOT, "dist", "page", "assets");
    const files = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name));
    const bytes = files.map((name) => brotliCompressSync(readFileSync(join(assets, name))).length);
    const kilobytes = bytes.reduce((sum, length) => sum + length, 0) / KILO;
    return Promise.resolve([{ ours: kilobytes, unit: "kB", goal: atMost(60) }]);
  },
};
