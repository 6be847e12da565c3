import type { RequestListener } from "node:http";
import type { Socket } from "node:net";

/** Browsers never pipeline, and each waiting request takes memory. */
const MOST_WAITING = 32;

/**
 * Answers the requests of a connection one after the other. Node would start all of them at once,
 * and emit no "close" on those in the queue when their client disconnects.
 * @param refuse answers the first request over the limit, and ends the connection
 */
export function inTurn(answer: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    if (response.socket) return answer(request, response);
    const ahead = waiting.get(socket) ?? 0;
    waiting.set(socket, ahead + 1);
    if (ahead > MOST_WAITING) return;
    if (ahead === MOST_WAITING) stopReading(socket);
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      (ahead < MOST_WAITING ? answer : refuse)(request, response);
    });
  };
}

/** Drops all that comes, so that its end is seen. What has been read, 64 KiB at most, is still parsed. */
function stopReading(socket: Socket): void {
  socket.removeAllListeners("data").on("data", () => {});
}
