import type { RequestListener } from "node:http";
import type { Socket } from "node:net";

/** Browsers send no request before they have the answer to the last; each that waits takes memory. */
const MOST_WAITING = 32;

/**
 * Answers the requests of a connection one after the other. Node would begin all at once, and not
 * tell those that wait for their turn when their client goes away.
 */
export function inTurn(answer: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    if (response.socket) return answer(request, response);
    const ahead = waiting.get(socket) ?? 0;
    if (ahead >= MOST_WAITING) return void socket.destroy();
    waiting.set(socket, ahead + 1);
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      answer(request, response);
    });
  };
}
