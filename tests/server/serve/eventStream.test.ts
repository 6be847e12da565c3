import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { COMPLETION_FORMAT } from "../../../server/serve/completionFormat.ts";
import { completionRequest } from "../../../server/serve/completionRequest.ts";
import { createEventStream } from "../../../server/serve/eventStream.ts";
import { RESPONSE_FORMAT } from "../../../server/serve/responses/responseFormat.ts";
import { responseRequest } from "../../../server/serve/responses/responseRequest.ts";
import { eventsIn } from "./serveServer.ts";

const HEAD = { id: "a", created: 0, model: "m" };

/** A client that reads nothing by itself. */
function createClient() {
  const client = Object.assign(new EventEmitter(), {
    ...{ writableNeedDrain: false, writableLength: 0, destroyed: false, text: "" },
    writeHead: () => undefined,
    flushHeaders: () => undefined,
    destroy: () => void (client.destroyed = true),
    write(text: string) {
      client.text += text;
      client.writableLength += text.length;
    },
  });
  return client;
}

test("pieces that a slow client has not taken stay in their own choice", () => {
  const client = Object.assign(createClient(), { writableNeedDrain: true });
  const request = completionRequest({ model: "m", prompt: ["1", "2"], stream: true });
  const frames = COMPLETION_FORMAT.frames(HEAD, request);
  const stream = createEventStream(client as unknown as ServerResponse, frames);
  for (const text of ["a", "b"]) {
    stream.push({ text });
    stream.endChoice({ text, finishReason: "stop", promptTokens: 1, tokens: 1 });
  }
  const events = eventsIn(client.text) as { choices: { index: number; text: string }[] }[];
  expect(events.map(({ choices: [choice] }) => [choice?.index, choice?.text])).toEqual([
    [0, "a"],
    [0, ""],
    [1, "b"],
    [1, ""],
  ]);
});

test("a response that repeats a long request goes out whole, unless its client reads nothing", () => {
  const client = createClient();
  const request = responseRequest({ model: "m", input: "1", instructions: "a".repeat(1_000_000) });
  const frames = RESPONSE_FORMAT.frames(HEAD, request);
  const stream = createEventStream(client as unknown as ServerResponse, frames);
  stream.push({ text: "b".repeat(2 ** 20) });
  expect([client.destroyed, client.text.includes("output_text.delta")]).toEqual([false, true]);
  stream.push({ text: "c" });
  expect(client.destroyed).toBe(true);
});
