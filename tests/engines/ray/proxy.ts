import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/** A network before a server, which fails when it is told to. */
export async function startProxy(target: string) {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Socket[]>();
  const requests: string[] = [];
  const failures = { lost: 0, cut: 0, muted: 0 };
  let lost: string | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const pair = [client, upstream];
    pairs.add(pair);
    const end = () => {
      for (const socket of pair) socket.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    client.on("data", (sent) => {
      upstream.write(sent);
      const request = /^[A-Z]+ \S+/.exec(sent.toString("latin1"))?.[0];
      if (request === undefined) return;
      requests.push(request);
      if (lost === undefined || !request.startsWith(lost)) return;
      lost = undefined;
      upstream.removeAllListeners("data").once("data", () => {
        failures.lost++;
        end();
      });
    });
    upstream.on("data", (sent) => client.write(sent));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Each with its method and path. */
    requests,
    /** How many answers were lost, and how many open connections were cut or muted. */
    failures,
    /** Closes every connection instead of the next answer to a request that begins so. */
    loseAnswer: (request: string) => void (lost = request),
    cut() {
      failures.cut += pairs.size;
      for (const sockets of pairs) for (const socket of sockets) socket.destroy();
    },
    /** Open connections stay open, and nothing comes through. */
    mute() {
      failures.muted += pairs.size;
      for (const [, upstream] of pairs) upstream?.removeAllListeners("data").resume();
    },
    close() {
      this.cut();
      server.close();
    },
  };
}
