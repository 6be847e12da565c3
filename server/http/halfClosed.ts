import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How often such a client is written to, in ms: the second time tells that it is gone. */
const PROBE_MS = 250;

/**
 * Lets a client that has closed its side behind its request get its answer. One that is gone looks alike until it is
 * written to: it gets an interim response until its answer begins.
 * @param answeringOn what a connection awaits
 */
export function answerHalfClosed(
  server: Server,
  answeringOn: (socket: Socket) => ServerResponse | undefined,
): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      probe();
      const timer = setInterval(probe, PROBE_MS);
      socket.once("close", () => clearInterval(timer));
    });

    function probe(): void {
      const response = answeringOn(socket);
      if (!response || response.headersSent) return;
      // HTTP/1.0, which proxies speak, has no interim responses.
      if (response.req.httpVersion === "1.0") socket.destroy();
      else response.writeProcessing();
    }
  });
}
