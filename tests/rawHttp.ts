import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { onTestFinished } from "vitest";

/** A connection on which a test writes what it likes. */
export interface RawConnection {
  socket: Socket;
  /** Resolves with all that has come, as soon as it matches; rejects when it no longer can. */
  until: (pattern: RegExp) => Promise<string>;
  /** Resolves with all that came when the server has closed the connection. */
  closed: () => Promise<string>;
}

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  let look = () => {};
  socket.setEncoding("latin1");
  socket.on("data", (part: string) => {
    text += part;
    look();
  });
  // Written while the server closed: what it has said before is what counts.
  socket.on("error", () => undefined);
  const closing = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  await once(socket, "connect");
  return {
    socket,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (pattern.test(text)) resolve(text);
        };
        look();
        void closing.then(() => reject(new Error(`${String(pattern)} did not come:\n${text}`)));
      }),
    async closed() {
      await closing;
      return text;
    },
  };
}

/** The bytes of a request. */
export function asBytes(target: string, headers: string[] = [], method = "GET"): string {
  const lines = ["Host: localhost", ...headers].map((line) => `${line}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Sends a request on a connection of its own; resolves with its whole answer. */
export async function askAlone(port: number, ...request: Parameters<typeof asBytes>) {
  const [target, headers = [], method] = request;
  const { socket, closed } = await openRaw(port);
  socket.write(asBytes(target, [...headers, "Connection: close"], method));
  return closed();
}

export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
