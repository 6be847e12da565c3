import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { Refusal } from "./guard/checks.ts";

export interface BodyLimits {
  /** Limit of one body. */
  bodyBytes: number;
  /** Limit of all bodies being read. */
  bodiesBytes: number;
}

export interface BodyReader {
  /**
   * Reads a whole body. The request timeouts end one that stalls.
   * @returns a refusal, or undefined if the client disconnected
   */
  read: (
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<Buffer | Refusal | undefined>;
}

/** Longest body whose parsing doesn't noticeably delay other requests. */
const QUICK_BYTES = 32 * 1024;

/** Reads bodies within a limit for each and one for all together. */
export function createBodyReader({ bodyBytes, bodiesBytes }: BodyLimits): BodyReader {
  let heldBytes = 0;
  let last: Promise<unknown> = Promise.resolve();
  const tooLong: Refusal = {
    status: 413,
    error: `The body is too long. Send at most ${bodyBytes} bytes.`,
  };
  const tooMany: Refusal = {
    status: 429,
    error: "Too many uploads at once. Wait a second, then send it again.",
    headers: { "Retry-After": "1" },
  };

  return {
    async read(request, response) {
      const { headers } = request;
      if (Number(headers["content-length"] ?? 0) > bodyBytes) return discard(request, tooLong);
      // The client sends its body only after this.
      if (headers.expect !== undefined) response.writeContinue();
      const chunks: Buffer[] = [];
      let length = 0;
      try {
        for await (const chunk of request.iterator({ destroyOnReturn: false })) {
          const part = chunk as Buffer;
          length += part.length;
          heldBytes += part.length;
          if (length > bodyBytes) return discard(request, tooLong);
          if (heldBytes > bodiesBytes) return discard(request, tooMany);
          chunks.push(part);
        }
      } catch {
        // The client disconnected.
        return undefined;
      } finally {
        heldBytes -= length;
      }
      // Parsed one at a time, so that other requests get a turn in between.
      if (length > QUICK_BYTES) await (last = last.then(() => setImmediate()));
      return Buffer.concat(chunks, length);
    },
  };
}

/** Reads on, because a client that is cut off while it sends would not see the response. */
function discard(request: IncomingMessage, refusal: Refusal): Refusal {
  request.resume();
  return refusal;
}
