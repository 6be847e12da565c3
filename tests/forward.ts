import { once } from "node:events";
import {
  type AddressInfo,
  type NetConnectOpts,
  type Socket,
  connect,
  createServer,
} from "node:net";
import { onTestFinished } from "vitest";

/**
 * Forwards a free port of this machine until the test has finished, as an editor, `ssh -L` or a
 * container's engine does.
 * @returns its number
 */
export async function forwardPort(to: NetConnectOpts): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.once("error", () => other.destroy());
      one.once("close", () => other.destroy());
    }
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
