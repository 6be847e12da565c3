import { createConnection } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { statusesIn } from "../rawHttp.ts";

/** How many requests ended in each way. */
export interface RequestCounts {
  requests: number;
  /** Answers by the first digit of their status. */
  byClass: Record<string, number>;
  /** Requests whose client went away before the answer. */
  aborted: number;
}

/** A client's work on a connection of its own. */
interface Visit {
  bytes: string;
  requests: number;
  /** Goes away after this many bytes of answer. */
  leavesAfter?: number;
  /** Bytes that are sent at once; the next follow later. */
  atOnce?: number;
}

const ODD_IDS = ["__proto__", "constructor", "..", "%2e%2e", "%00", "20260101-000000-000-aaaa"];
const NUMBERS = ["0", "-1", "1e9", "9".repeat(15), "9".repeat(400), "NaN", "0x10", " 1", "é"];
const METHODS = ["GET", "GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE"];
const NAMES = ["Range", "Last-Event-ID", "If-None-Match", "Expect", "Upgrade", "Origin", "Cookie"];
const MORE_NAMES = ["Sec-Fetch-Site", "Transfer-Encoding", "Content-Length", "Connection", "TE"];
const VALUES = ["close", "keep-alive", "chunked", "100-continue", "websocket", "none", "null", "*"];
const SLOW_MS = 1_000;

/** Requests as a fuzzer, a broken client, a bad proxy and a hostile page send them. */
export function createVisitor(port: number, jobId: string, random: () => number) {
  const below = (most: number) => Math.floor(random() * most);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const anyBytes = (most: number) =>
    String.fromCharCode(...Array.from({ length: below(most) }, () => below(256)));

  function target(): string {
    const id = random() < 0.5 ? jobId : oneOf(ODD_IDS);
    const routes = ["/", "/api/jobs", `/api/jobs/${id}`, `/assets/${id}`, "//a"];
    const query = encodeURI(
      `?from=${oneOf(NUMBERS)}&run=${oneOf(ODD_IDS)}&points=${oneOf(NUMBERS)}`,
    );
    return oneOf(routes) + (random() < 0.3 ? query : "");
  }

  function request(path = random() < 0.1 ? "*" : target(), method = oneOf(METHODS)): string {
    const value = () => (random() < 0.5 ? oneOf([...VALUES, ...NUMBERS]) : anyBytes(20));
    const lines = Array.from(
      { length: below(4) },
      () => `${oneOf([...NAMES, ...MORE_NAMES])}: ${value().replace(/[\r\n]/g, "")}\r\n`,
    );
    return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join("")}\r\n`;
  }

  function plain(path: string, method = "GET"): string {
    return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  }

  function mutated(bytes: string): string {
    const at = below(bytes.length);
    return bytes.slice(0, at) + anyBytes(8) + bytes.slice(at + below(4));
  }

  function huge(): string {
    const long = "a".repeat(40_000);
    const body = 200_000;
    return oneOf([
      request(`/${long}`),
      `GET / HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: ${long}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: localhost\r\n${"a:\r\n".repeat(10_000)}\r\n`,
      `POST /api/train HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body}\r\n\r\n${"x".repeat(body)}`,
      `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${body.toString(16)}\r\n${"x".repeat(body)}`,
    ]);
  }

  function pipeline(): Visit {
    const requests = 1 + below(30);
    const bytes = Array.from({ length: requests }, () => plain(target(), oneOf(METHODS)));
    return { bytes: bytes.join(""), requests };
  }

  const stream = () => oneOf([`/api/jobs/${jobId}/events`, "/api/train"]);

  const kinds: (() => Visit)[] = [
    () => ({ bytes: request(), requests: 1 }),
    () => ({ bytes: mutated(request()), requests: 1 }),
    () => ({ bytes: anyBytes(300), requests: 1 }),
    () => ({ bytes: plain("/api/train", "POST"), requests: 1, leavesAfter: 50 }),
    () => ({ bytes: request().repeat(10), requests: 10 }),
    pipeline,
    pipeline,
    pipeline,
    () => ({ bytes: mutated(Array.from({ length: 20 }, () => request()).join("")), requests: 20 }),
    // Streams that wait for one another, and for their client, which goes away.
    () => ({ bytes: plain(stream()).repeat(5), requests: 5, leavesAfter: below(3_000) }),
    () => ({ bytes: plain(stream()), requests: 1, leavesAfter: below(3_000) }),
    () => ({ bytes: request(), requests: 1, leavesAfter: 0 }),
  ];
  const rare: (() => Visit)[] = [
    () => ({ bytes: huge(), requests: 1 }),
    () => ({ bytes: plain("/api/manifest"), requests: 1, leavesAfter: below(2) }),
    () => ({ bytes: request(), requests: 1, atOnce: 1 + below(30) }),
  ];

  return function visit(counts: RequestCounts): Promise<void> {
    const { bytes, requests, leavesAfter, atOnce } = oneOf(random() < 0.03 ? rare : kinds)();
    counts.requests += requests;
    return new Promise((resolve) => {
      const socket = createConnection({ host: "127.0.0.1", port, noDelay: true });
      let text = "";
      socket.setEncoding("latin1");
      // No more answers come.
      socket.setTimeout(SLOW_MS, () => socket.destroy());
      socket.on("data", (part: string) => {
        text += part;
        if (leavesAfter !== undefined && text.length > leavesAfter) socket.destroy();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => {
        const statuses = statusesIn(text);
        for (const status of statuses) {
          const each = `${Math.trunc(status / 100)}xx`;
          counts.byClass[each] = (counts.byClass[each] ?? 0) + 1;
        }
        counts.aborted += Math.max(0, requests - statuses.length);
        resolve();
      });
      socket.on("connect", () => void send());
      async function send(): Promise<void> {
        if (atOnce !== undefined) {
          socket.write(bytes.slice(0, atOnce), "latin1");
          await delay(SLOW_MS / 2);
        }
        if (leavesAfter === undefined) socket.end(bytes.slice(atOnce ?? 0), "latin1");
        else socket.write(bytes, "latin1", () => leavesAfter === 0 && socket.destroy());
      }
    });
  };
}
