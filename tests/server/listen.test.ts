import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../server/listen.ts";
import { startServer } from "../uiServer.ts";

/** Takes a port that was free; there are some after it. */
async function takePort(): Promise<number> {
  const taker = createServer();
  onTestFinished(() => void taker.close());
  taker.listen({ host: "127.0.0.1", port: 0 });
  await once(taker, "listening");
  return (taker.address() as AddressInfo).port;
}

function httpServer() {
  const server = createHttpServer();
  onTestFinished(() => void server.close());
  return server;
}

test("without a port the first is taken, and the next free one when it is busy", async () => {
  const busy = await takePort();
  const server = httpServer();
  const port = await listen(server, { host: "127.0.0.1", firstPort: busy });
  expect(port).toBeGreaterThan(busy);
  expect(port).toBeLessThan(busy + 100);
  expect((server.address() as AddressInfo).port).toBe(port);
  const next = await listen(httpServer(), { host: "127.0.0.1", firstPort: port });
  expect(next).toBeGreaterThan(port);
});

test("when no port is left after the first, the system gives one", async () => {
  const port = await listen(httpServer(), { host: "127.0.0.1", firstPort: 65_536 });
  expect(port).toBeGreaterThan(0);
});

test("a port that was asked for and is busy is an error that says what to do", async () => {
  const port = await takePort();
  await expect(listen(httpServer(), { host: "127.0.0.1", port })).rejects.toMatchObject({
    name: "KitError",
    code: "PORT_TAKEN",
    message: `Port ${port} is taken. Name another with --port, or leave it out for the next free one.`,
  });
});

test("port 0 asks the system for a free one", async () => {
  const [one, other] = [await startServer({ port: 0 }), await startServer({ port: 0 })];
  expect(one.port).toBeGreaterThan(0);
  expect(one.port).not.toBe(other.port);
});

test("an address that is not of this machine is an error that says what to do", async () => {
  await expect(listen(httpServer(), { host: "192.0.2.1", port: 0 })).rejects.toMatchObject({
    code: "CANNOT_LISTEN",
    message: expect.stringMatching(/^Cannot listen on 192\.0\.2\.1 port 0: .*--host/),
  });
});

test("only this machine reaches the server", async () => {
  const { port } = await startServer();
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address, scopeid }) => (scopeid ? `${address}%${scopeid}` : address));
  // Another loopback address stands for the rest where there is no network.
  for (const host of [...outside, "127.0.0.2"]) {
    const socket = createConnection({ host, port });
    await expect(once(socket, "connect")).rejects.toThrow();
  }
});

test("closing frees the port, once and for all callers", async () => {
  const { port, close } = await startServer();
  await Promise.all([close(), close()]);
  await close();
  expect(await listen(httpServer(), { host: "127.0.0.1", port })).toBe(port);
});
