import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, type Server, createServer } from "node:net";
import { DEFAULT_PORT, LAST_PORT, isLocalhost } from "../../protocol/address.ts";
import { KitError, messageOf } from "../../protocol/error.ts";

/** Number of ports to try from the default on. */
const MAX_PORTS = 100;
/** Tries for a free port, because the system may pick one that is free on one address only. */
const MAX_ANY_PORT_TRIES = 20;

/** The addresses of `localhost`: a browser may try either first. */
const LOCALHOST_IPV4 = "127.0.0.1";
const LOCALHOST_IPV6 = "::1";

export interface ListenOptions {
  /** An address or name. `localhost` is both loopback addresses, or the one that the machine has. */
  host: string;
  /** 0: any free port. Omit for `firstPort` or the next free one. */
  port?: number;
  /** Default {@link DEFAULT_PORT}. */
  firstPort?: number;
}

export interface Listening {
  port: number;
  /** Stops accepting connections, and closes idle ones. */
  stop: () => void;
  /** Stops accepting connections, and closes all open ones. */
  close: () => Promise<void>;
}

/** @throws KitError `PORT_TAKEN`, `CANNOT_LISTEN` */
export async function listen(server: HttpServer, options: ListenOptions): Promise<Listening> {
  const { host, port, firstPort = DEFAULT_PORT } = options;
  if (port !== undefined) return listenOn(server, host, port);
  const lastPort = Math.min(firstPort + MAX_PORTS - 1, LAST_PORT);
  for (let next = firstPort; next <= lastPort; next++) {
    try {
      return await listenOn(server, host, next);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return listenOn(server, host, 0);
}

async function listenOn(server: HttpServer, host: string, port: number): Promise<Listening> {
  if (!isLocalhost(host)) return listening(server, await bind(server, host, port));
  for (let tries = port === 0 ? MAX_ANY_PORT_TRIES : 1; ; tries--) {
    const ipv4 = await bindIfAvailable(server, LOCALHOST_IPV4, port);
    if (ipv4 === undefined) return listening(server, await bind(server, LOCALHOST_IPV6, port));
    const onIpv4 = listening(server, ipv4);
    try {
      return listening(server, onIpv4.port, await listenOnIpv6(server, onIpv4.port));
    } catch (error) {
      // Without IPv6, no client uses it either.
      if (!isTaken(error)) return onIpv4;
      await onIpv4.close();
      if (tries === 1) throw error;
    }
  }
}

/** Makes a server listen on the IPv6 loopback address too. */
async function listenOnIpv6(server: HttpServer, port: number): Promise<Server> {
  // An HTTP server sets noDelay too.
  const ipv6 = createServer({ noDelay: true }, (socket) => {
    server.emit("connection", socket);
  });
  await bind(ipv6, LOCALHOST_IPV6, port);
  return ipv6;
}

/** Like `bind`; undefined on a machine without the address. */
async function bindIfAvailable(server: Server, host: string, port: number) {
  try {
    return await bind(server, host, port);
  } catch (error) {
    const { code } = (error as KitError).cause as NodeJS.ErrnoException;
    if (code === "EADDRNOTAVAIL") return undefined;
    throw error;
  }
}

/** @returns the port */
async function bind(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port });
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") {
      throw new KitError(
        "PORT_TAKEN",
        `Port ${port} is taken. Choose another with --port, or omit it for the next free one.`,
        { cause: error },
      );
    }
    throw new KitError(
      "CANNOT_LISTEN",
      `Cannot listen on ${host} port ${port}: ${messageOf(error)}. Choose another with --host or --port.`,
      { cause: error },
    );
  }
  return (server.address() as AddressInfo).port;
}

function listening(server: HttpServer, port: number, ipv6?: Server): Listening {
  const servers: Server[] = [server, ...(ipv6 ? [ipv6] : [])];
  return {
    port,
    stop() {
      for (const each of servers) each.close();
    },
    async close() {
      const closed = servers.map((each) => new Promise<void>((done) => each.close(() => done())));
      server.closeAllConnections();
      await Promise.all(closed);
    },
  };
}

function isTaken(error: unknown): boolean {
  return error instanceof KitError && error.code === "PORT_TAKEN";
}
