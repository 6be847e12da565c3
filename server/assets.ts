import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { listFiles } from "../disk/listFiles.ts";
import { KitError } from "../protocol/error.ts";
import type { Files } from "./http/router.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const INDEX = "/index.html";

/**
 * The page's files, read once. No request reads another file.
 * @param project the folder's name, which the page shows
 * @throws KitError `PAGE_NOT_BUILT`
 */
export function loadAssets(directory: string, project: string): Files {
  const files = new Map<string, { body: Buffer; type: string }>();
  // Not built: the missing index is the error.
  for (const name of existsSync(directory) ? listFiles(directory) : []) {
    const type = TYPES[extname(name)];
    if (!type) continue;
    files.set(`/${name}`, { body: readFileSync(join(directory, name)), type });
  }
  const index = files.get(INDEX);
  if (!index) {
    throw new KitError(
      "PAGE_NOT_BUILT",
      `The page is not in ${directory}. Run "npm run build" in Kit's folder, or install Kit again.`,
    );
  }
  const quoted = project.replace(/[&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  index.body = Buffer.from(
    // A function, because a name may have a "$".
    index.body.toString().replace("<html", (start) => `${start} data-project="${quoted}"`),
  );
  files.set("/", index);
  return {
    has: (path) => files.has(path),
    serve(path, response) {
      const file = files.get(path);
      if (!file) return false;
      response.writeHead(200, {
        "Content-Type": file.type,
        "Content-Length": file.body.length,
        // Only names there contain a hash of the content.
        "Cache-Control": path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache",
      });
      response.end(file.body);
      return true;
    },
  };
}
