import { connect } from "node:net";
import type { Scope } from "./scope.ts";

/** A client of a log stream, which records when each step arrived. */
export interface Follower {
  /** Arrival times by step, in ms of `performance.now()`. */
  times: Map<number, number>;
  /** Resolves when a step has arrived. */
  arrival: (step: number) => Promise<void>;
  /** Resolves when the stream has ended. */
  ended: Promise<void>;
}

/** Shared by all clients: each chunk is parsed before the next read. */
const CHUNK = Buffer.alloc(64 * 1024);

/** Follows a job's event stream. Resolves when it is open. */
export function followJob(scope: Scope, url: string): Promise<Follower> {
  const { pathname, host } = new URL(url);
  const request = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  return follow(scope, url, request, "HTTP/1.1 200 ");
}

/** Follows a socket's output. */
export function followSocket(scope: Scope, url: string): Promise<Follower> {
  return follow(scope, url, "", "");
}

/**
 * A minimal client: 500 of them share a machine with the server that they measure. Resolves when the
 * expected answer begins, or once connected without a request.
 */
function follow(scope: Scope, url: string, request: string, answer: string): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const times = new Map<number, number>();
    const waiting = new Map<number, () => void>();
    let isOpen = false;
    let rest = "";
    function open(text: string): void {
      isOpen = true;
      if (text.startsWith(answer)) resolve({ times, arrival, ended });
      else reject(new Error(`The answer was ${text.split("\r\n")[0]}.`));
    }
    function read(length: number): boolean {
      const now = performance.now();
      const text = rest + CHUNK.toString("latin1", 0, length);
      if (!isOpen) open(text);
      for (const [, digits] of text.matchAll(/"step":(\d+),/g)) {
        const step = Number(digits);
        times.set(step, now);
        waiting.get(step)?.();
      }
      rest = text.slice(text.lastIndexOf("\n") + 1);
      return true;
    }
    const arrival = (step: number) =>
      new Promise<void>((come) => (times.has(step) ? come() : waiting.set(step, come)));
    const socket = connect(
      {
        port: Number(new URL(url).port),
        host: "127.0.0.1",
        onread: { buffer: CHUNK, callback: read },
      },
      () => (request === "" ? open("") : socket.write(request)),
    );
    const ended = new Promise<void>((end) => void socket.once("close", () => end()));
    socket.once("error", reject);
    scope.defer(() => socket.destroy());
  });
}
