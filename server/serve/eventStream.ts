import type { ServerResponse } from "node:http";
import type { InferDelta } from "../../protocol/infer.ts";
import { frame } from "./answerFormat.ts";
import { type ApiError, apiErrorBody } from "./apiError.ts";

/** Limit of bytes buffered for a slow client. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** A streamed answer. */
export interface EventStream {
  push: (delta: InferDelta) => void;
  /** Sends frames after the pending deltas. */
  write: (frames: string) => void;
  end: (frames: string) => void;
  fail: (error: ApiError) => void;
}

/**
 * Sends each delta at once, in one write. Merges deltas while the client does not read, and disconnects
 * it when too much is unread.
 */
export function createEventStream(
  response: ServerResponse,
  frameOf: (delta: InferDelta) => string,
): EventStream {
  let unsent: InferDelta | undefined;

  function write(frames: string): void {
    if (response.destroyed || frames === "") return;
    const { socket } = response;
    // Corked, so that Node sends one packet.
    socket?.cork();
    response.write(frames);
    socket?.uncork();
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  }

  function flush(): void {
    if (!unsent) return;
    const delta = unsent;
    unsent = undefined;
    write(frameOf(delta));
  }

  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    // Tells proxies not to buffer.
    "X-Accel-Buffering": "no",
  });
  response.on("drain", flush);

  return {
    push(delta) {
      unsent = unsent ? merge(unsent, delta) : delta;
      if (!response.writableNeedDrain || isLong(unsent)) flush();
    },
    write(frames) {
      flush();
      write(frames);
    },
    end(frames) {
      flush();
      write(frames);
      response.end();
    },
    fail({ status, message, details }) {
      flush();
      write(frame(apiErrorBody(status, message, details)));
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

function merge(one: InferDelta, other: InferDelta): InferDelta {
  return {
    text: one.text + other.text,
    ...((one.toolCalls ?? other.toolCalls) && {
      toolCalls: [...(one.toolCalls ?? []), ...(other.toolCalls ?? [])],
    }),
    ...((one.logprobs ?? other.logprobs) && {
      logprobs: [...(one.logprobs ?? []), ...(other.logprobs ?? [])],
    }),
  };
}
