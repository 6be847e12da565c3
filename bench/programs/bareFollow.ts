// The minimal way to send a growing file to clients: `fs.watch` and a socket. Prints its URL.
import { closeSync, openSync, readSync, watch } from "node:fs";
import { type AddressInfo, type Socket, createServer } from "node:net";

const path = process.argv[2] ?? "";
const file = openSync(path, "r");
const chunk = Buffer.alloc(64 * 1024);
const sockets = new Set<Socket>();
let position = 0;

watch(path, () => {
  for (;;) {
    const length = readSync(file, chunk, 0, chunk.length, position);
    if (length === 0) return;
    position += length;
    for (const socket of sockets) socket.write(Buffer.from(chunk.subarray(0, length)));
  }
});

const server = createServer((socket) => {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
  socket.once("error", () => socket.destroy());
});
server.once("close", () => closeSync(file));
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
