import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KitError, messageOf } from "../protocol/error.ts";

export const DEFAULT_PORT = 4747;
/** How many ports after the default are tried. */
const PORTS_TRIED = 100;
const LAST_PORT = 65_535;

export interface ListenOptions {
  host: string;
  /** Left out: `firstPort` or the next free one. 0: any that is free. */
  port?: number;
  /** Default {@link DEFAULT_PORT}. */
  firstPort?: number;
}

/**
 * @returns the port
 * @throws KitError `PORT_TAKEN` or `CANNOT_LISTEN`
 */
export async function listen(server: Server, options: ListenOptions): Promise<number> {
  const { host, port, firstPort = DEFAULT_PORT } = options;
  if (port !== undefined) return listenOn(server, host, port);
  const lastPort = Math.min(firstPort + PORTS_TRIED - 1, LAST_PORT);
  for (let next = firstPort; next <= lastPort; next++) {
    try {
      return await listenOn(server, host, next);
    } catch (error) {
      if (!(error instanceof KitError) || error.code !== "PORT_TAKEN") throw error;
    }
  }
  return listenOn(server, host, 0);
}

async function listenOn(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port });
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") {
      throw new KitError(
        "PORT_TAKEN",
        `Port ${port} is taken. Name another with --port, or leave it out for the next free one.`,
        { cause: error },
      );
    }
    throw new KitError(
      "CANNOT_LISTEN",
      `Cannot listen on ${host} port ${port}: ${messageOf(error)}. Name another with --host or --port.`,
      { cause: error },
    );
  }
  return (server.address() as AddressInfo).port;
}
