// The least a server can do, to compare Kit's with: `node:http` and one answer.
//   bareServer.js                 200, "ok"
//   bareServer.js memory <file>   200, the file's bytes from memory
//   bareServer.js pipe <file>     200, the file piped
//   bareServer.js unchanged       304
// Prints its URL when it listens.
import { createReadStream, readFileSync } from "node:fs";
import { type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";

const [mode = "ok", file = ""] = process.argv.slice(2);

const MODES: Record<string, () => RequestListener> = {
  ok: () => (_, response) => response.end("ok"),
  memory: () => {
    const bytes = readFileSync(file);
    return (_, response) => response.end(bytes);
  },
  pipe: () => (_, response) => createReadStream(file).pipe(response),
  unchanged: () => (_, response) => response.writeHead(304, { ETag: '"same"' }).end(),
};

const listener = MODES[mode]?.();
if (!listener) throw new Error(`There is no mode ${mode}.`);
const server = createServer(listener);
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
