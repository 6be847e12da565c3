import type { RequestListener } from "node:http";
import type { Socket } from "node:net";

/** Browsers send no request before they have the answer to the last; each that waits takes memory. */
const MOST_WAITING = 32;
/** More that come before the connection ends are left unread; yet more end it without a word. */
const MOST_LEFT = 100;

/**
 * Answers the requests of a connection one after the other. Node would begin all at once, and not
 * tell those that wait for their turn when their client goes away.
 * @param refuse answers the one too many, and ends the connection
 */
export function inTurn(answer: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    if (response.socket) return answer(request, response);
    const ahead = waiting.get(socket) ?? 0;
    waiting.set(socket, ahead + 1);
    if (ahead > MOST_WAITING + MOST_LEFT) return void socket.destroy();
    if (ahead > MOST_WAITING) return;
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      (ahead < MOST_WAITING ? answer : refuse)(request, response);
    });
  };
}
