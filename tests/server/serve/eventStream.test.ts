import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { COMPLETION_FORMAT } from "../../../server/serve/completionFormat.ts";
import { completionRequest } from "../../../server/serve/completionRequest.ts";
import { createEventStream } from "../../../server/serve/eventStream.ts";
import { eventsIn } from "./serveServer.ts";

test("pieces that a slow client has not taken stay in their own choice", () => {
  let text = "";
  const slow = Object.assign(new EventEmitter(), {
    ...{ writableNeedDrain: true, writableLength: 0, destroyed: false },
    writeHead: () => undefined,
    write: (more: string) => void (text += more),
  });
  const request = completionRequest({ model: "m", prompt: ["1", "2"], stream: true });
  const frames = COMPLETION_FORMAT.frames({ id: "a", created: 0, model: "m" }, request);
  const stream = createEventStream(slow as unknown as ServerResponse, frames);
  for (const piece of ["a", "b"]) {
    stream.push({ text: piece });
    stream.endChoice({ text: piece, finishReason: "stop", promptTokens: 1, tokens: 1 });
  }
  const events = eventsIn(text) as { choices: { index: number; text: string }[] }[];
  expect(events.map(({ choices: [choice] }) => [choice?.index, choice?.text])).toEqual([
    ...[
      [0, "a"],
      [0, ""],
      [1, "b"],
      [1, ""],
    ],
  ]);
});
