import type { ServerResponse } from "node:http";
import type { InferPiece } from "../../protocol/infer.ts";
import { frame } from "./answerFormat.ts";
import { type ApiError, apiErrorBody } from "./apiError.ts";

/** Limit of unread bytes that a slow client may leave in memory. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** An answer that is sent as it comes. */
export interface EventStream {
  push: (delta: InferPiece) => void;
  /** After the pieces before. */
  write: (frames: string) => void;
  end: (frames: string) => void;
  fail: (error: ApiError) => void;
}

/**
 * Sends each piece at once, in one write. While the client does not read, pieces become one; if it leaves too much
 * unread, the connection is cut.
 */
export function createEventStream(
  response: ServerResponse,
  frameOf: (delta: InferPiece) => string,
): EventStream {
  let unsent: InferPiece | undefined;

  function write(frames: string): void {
    if (response.destroyed || frames === "") return;
    const { socket } = response;
    // Node would otherwise send the parts one by one.
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

/** What may wait as one piece; a token with its probabilities is long. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_LOGPROBS = 100;

function isLong({ text, logprobs = [] }: InferPiece): boolean {
  return text.length >= MAX_CHARACTERS || logprobs.length >= MAX_LOGPROBS;
}

function merge(one: InferPiece, other: InferPiece): InferPiece {
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
