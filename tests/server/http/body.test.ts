import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBodyReader } from "../../../server/http/body.ts";

test("long bodies that come at once are handed on one at a time, and short ones do not wait for them", async () => {
  const { read } = createBodyReader({ bodyBytes: 1e6, bodiesBytes: 1e8 });
  const events: string[] = [];
  const send = async (name: string, length: number) => {
    const request = Object.assign(Readable.from([Buffer.alloc(length)]), { headers: {} });
    await read(request as unknown as IncomingMessage, {} as ServerResponse);
    events.push(name);
  };
  let isOver = false;
  const long = Array.from({ length: 4 }, () => send("long", 300_000));
  const all = Promise.all([...long, send("short", 1_000)]).then(() => (isOver = true));
  while (!isOver) {
    events.push("turn");
    await setImmediate();
  }
  await all;
  expect(events.filter((one) => one === "long")).toHaveLength(4);
  expect(events.join()).not.toContain("long,long");
  expect(events.indexOf("short")).toBeLessThan(events.lastIndexOf("long"));
});
