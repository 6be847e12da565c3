import { get } from "node:http";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import type { Scope } from "./scope.ts";

/** A client of a stream of logs, which notes when each step has come. */
export interface Follower {
  /** By step, in the milliseconds of `performance.now()`. */
  times: Map<number, number>;
  /** Resolves when a step has come. */
  arrival: (step: number) => Promise<void>;
  /** Resolves when the stream has ended. */
  ended: Promise<void>;
}

/** Follows a job as a browser does. Resolves when the stream is open. */
export function followJob(scope: Scope, url: string): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      if (response.statusCode === 200) resolve(note(response));
      else reject(new Error(`The answer was ${response.statusCode}.`));
    });
    request.once("error", reject);
    scope.defer(() => request.destroy());
  });
}

/** Follows what a socket sends. */
export function followSocket(scope: Scope, url: string): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => resolve(note(socket)));
    socket.once("error", reject);
    scope.defer(() => socket.destroy());
  });
}

function note(stream: Readable): Follower {
  const times = new Map<number, number>();
  const waiting = new Map<number, () => void>();
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const now = performance.now();
    const text = rest + chunk.toString("latin1");
    for (const [, digits] of text.matchAll(/"step":(\d+),/g)) {
      const step = Number(digits);
      times.set(step, now);
      waiting.get(step)?.();
    }
    rest = text.slice(text.lastIndexOf("\n") + 1);
  });
  return {
    times,
    arrival: (step) =>
      new Promise((resolve) => (times.has(step) ? resolve() : waiting.set(step, resolve))),
    ended: new Promise((resolve) => void stream.once("close", () => resolve())),
  };
}
