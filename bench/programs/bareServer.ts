// A minimal server as a baseline: `node:http` and one answer. Prints its URL when it listens.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((_, response) => response.end("ok"));
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
