import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { DEFAULT_PORT } from "../../../protocol/address.ts";
import { listen } from "../../../server/http/listen.ts";
import { createJob } from "../../jobs.ts";
import { createProject } from "../../project.ts";
import { startServer } from "../../uiServer.ts";

/** Takes a port that was free; there are some after it. */
async function takePort(host = "127.0.0.1"): Promise<number> {
  const taker = createServer();
  onTestFinished(() => void taker.close());
  taker.listen({ host, port: 0 });
  await once(taker, "listening");
  return (taker.address() as AddressInfo).port;
}

function httpServer() {
  const server = createHttpServer();
  onTestFinished(() => void server.close());
  return server;
}

test("without a port the server takes the first, or the next free one", async () => {
  const busy = await takePort();
  const server = httpServer();
  const { port } = await listen(server, { host: "127.0.0.1", firstPort: busy });
  expect(port).toBeGreaterThan(busy);
  expect(port).toBeLessThan(busy + 100);
  expect((server.address() as AddressInfo).port).toBe(port);
  const next = await listen(httpServer(), { host: "127.0.0.1", firstPort: port });
  expect(next.port).toBeGreaterThan(port);
});

test("when no port is left after the first, the system gives one", async () => {
  const { port } = await listen(httpServer(), { host: "127.0.0.1", firstPort: 65_536 });
  expect(port).toBeGreaterThan(0);
});

test("a named port that is busy is an error that says what to do", async () => {
  const port = await takePort();
  await expect(listen(httpServer(), { host: "127.0.0.1", port })).rejects.toMatchObject({
    name: "KitError",
    code: "PORT_TAKEN",
    message: `Port ${port} is taken. Choose another with --port, or omit it for the next free one.`,
  });
});

test("port 0 asks the system for a free one", async () => {
  const [one, other] = [await startServer({ port: 0 }), await startServer({ port: 0 })];
  expect(one.port).toBeGreaterThan(0);
  expect(one.port).not.toBe(other.port);
});

test("another machine's address is an error that says what to do", async () => {
  for (const [port, tried] of [
    [0, 0],
    [undefined, DEFAULT_PORT],
  ]) {
    await expect(listen(httpServer(), { host: "192.0.2.1", port })).rejects.toMatchObject({
      code: "CANNOT_LISTEN",
      message: expect.stringMatching(`^Cannot listen on 192\\.0\\.2\\.1 port ${tried}: .*--host`),
    });
  }
});

test("only this machine reaches the server", async () => {
  const { port } = await startServer();
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address, scopeid }) => (scopeid ? `${address}%${scopeid}` : address));
  // Without a network, another loopback address stands for the rest.
  for (const host of [...outside, "127.0.0.2"]) {
    const socket = createConnection({ host, port });
    await expect(once(socket, "connect")).rejects.toThrow();
  }
});

test("localhost is both loopback addresses, at one port", async () => {
  const { port } = await startServer({ host: "localhost" });
  for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
    expect((await fetch(`http://${host}:${port}/`)).status).toBe(200);
  }
});

test("closing cuts the connections on both loopback addresses, and frees both", async () => {
  const project = createProject();
  const { port, close } = await startServer({ host: "localhost", project });
  const { id } = createJob(project).job;
  const hosts = ["127.0.0.1", "[::1]"];
  const streams = await Promise.all(
    hosts.map((host) => fetch(`http://${host}:${port}/api/jobs/${id}/events`)),
  );
  await close();
  for (const stream of streams) await expect(stream.text()).rejects.toThrow("terminated");
  for (const host of ["127.0.0.1", "::1"]) {
    expect(await listen(httpServer(), { host, port })).toMatchObject({ port });
  }
});

test("a port that is busy on the other loopback address is taken", async () => {
  const port = await takePort("::1");
  const server = httpServer();
  for (const host of ["localhost", "LOCALHOST", "localhost.", "kit.localhost"]) {
    await expect(listen(server, { host, port })).rejects.toMatchObject({ code: "PORT_TAKEN" });
  }
  expect(server.listening).toBe(false);
  const next = await listen(server, { host: "localhost", firstPort: port });
  onTestFinished(next.close);
  expect(next.port).toBeGreaterThan(port);
});

test("a port of the system's choice that is busy on the other loopback address is given back", async () => {
  const busy = await takePort("::1");
  const server = httpServer();
  const listenWhere = server.listen.bind(server);
  // The system's first choice.
  vi.spyOn(server, "listen").mockImplementationOnce(() =>
    listenWhere({ host: "127.0.0.1", port: busy }),
  );
  const { port, close } = await listen(server, { host: "localhost", port: 0 });
  onTestFinished(close);
  expect(port).not.toBe(busy);
  expect(port).toBeGreaterThan(0);
});

test("the most connections are counted over both loopback addresses", async () => {
  const { port } = await startServer({ host: "localhost", limits: { connections: 4 } });
  const connectTo = async (host: string) => {
    const socket = createConnection({ host, port });
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  for (const host of ["127.0.0.1", "::1", "127.0.0.1", "::1"]) await connectTo(host);
  for (const host of ["127.0.0.1", "[::1]"]) {
    expect((await fetch(`http://${host}:${port}/`)).status).toBe(429);
  }
});

test("closing twice frees the port, and resolves for both callers", async () => {
  const { port, close } = await startServer();
  await Promise.all([close(), close()]);
  await close();
  expect(await listen(httpServer(), { host: "127.0.0.1", port })).toMatchObject({ port });
});
