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
  return (await startForward(to)).port;
}

/** The same; `forget` leaves the connections that are open without a word, as after a laptop's sleep. */
export async function startForward(
  to: NetConnectOpts,
): Promise<{ port: number; forget: () => void }> {
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
  return {
    port: (server.address() as AddressInfo).port,
    forget() {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
