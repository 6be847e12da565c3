import type { ServerResponse } from "node:http";
import type { InferDelta, InferResult } from "../../protocol/infer.ts";
import type { Frames } from "./answerFormat.ts";
import type { ApiError } from "./apiError.ts";

/** Limit of bytes buffered for a slow client, besides the opening. */
const MAX_UNREAD_BYTES = 1024 * 1024;

export interface EventStream {
  push: (delta: InferDelta) => void;
  /** Ends a choice; the next delta belongs to another. */
  endChoice: (result: InferResult) => void;
  end: (results: readonly InferResult[]) => void;
  fail: (error: ApiError) => void;
}

/**
 * Begins an answer's stream. Sends each delta at once, in one write. Merges deltas while the client does not read, and disconnects
 * it when too much is unread.
 */
export function createEventStream(response: ServerResponse, frames: Frames): EventStream {
  let unsent: InferDelta | undefined;
  const opening = frames.opening();
  // A response's opening repeats its request, which may be long.
  const maxUnread = MAX_UNREAD_BYTES + Buffer.byteLength(opening);

  function write(text: string): void {
    if (response.destroyed || text === "") return;
    // Before the write, because a single event may be longer.
    if (response.writableLength > maxUnread) return void response.destroy();
    const { socket } = response;
    // Corked, so that Node sends one packet.
    socket?.cork();
    response.write(text);
    socket?.uncork();
  }

  function flush(): void {
    if (!unsent) return;
    const delta = unsent;
    unsent = undefined;
    write(frames.delta(delta));
  }

  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    // Tells proxies not to buffer.
    "X-Accel-Buffering": "no",
  });
  // Before the first token, which may take long.
  response.flushHeaders();
  write(opening);
  response.on("drain", flush);

  return {
    push(delta) {
      unsent = unsent ? merge(unsent, delta) : delta;
      if (!response.writableNeedDrain || isLong(unsent)) flush();
    },
    endChoice(result) {
      flush();
      write(frames.choice(result));
    },
    end(results) {
      flush();
      write(frames.end(results));
      response.end();
    },
    fail(error) {
      flush();
      write(frames.fail(error));
      response.end();
    },
  };
}

/** Limits of a merged delta; a token with its logprobs is long. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_LOGPROBS = 100;

function isLong({ text, logprobs = [] }: InferDelta): boolean {
  return text.length >= MAX_CHARACTERS || logprobs.length >= MAX_LOGPROBS;
}

function merge(earlier: InferDelta, later: InferDelta): InferDelta {
  return {
    text: earlier.text + later.text,
    ...((earlier.toolCalls ?? later.toolCalls) && {
      toolCalls: [...(earlier.toolCalls ?? []), ...(later.toolCalls ?? [])],
    }),
    ...((earlier.logprobs ?? later.logprobs) && {
      logprobs: [...(earlier.logprobs ?? []), ...(later.logprobs ?? [])],
    }),
  };
}
