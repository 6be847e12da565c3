import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { openRaw, statusesIn } from "../../rawHttp.ts";
import {
  type StandIn,
  apiErrorOf,
  chat,
  neverAnswers,
  sayBack,
  serve,
  standIn,
} from "./serveServer.ts";

const KEY = "a-key-of-sixteen-or-more";
const PATH = "/v1/chat/completions";

/** The bytes of a request with a body. */
function bytesOf(body: string | Buffer, headers: string[] = []): Buffer {
  const length = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line))
    ? []
    : [`Content-Length: ${Buffer.byteLength(body)}`];
  const lines = ["Host: localhost", "Content-Type: application/json", ...length, ...headers];
  const head = `POST ${PATH} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

const ask = (text: string, more?: object) => bytesOf(JSON.stringify(chat(text, more)));
const isAsked = (model: StandIn, times: number) =>
  expect.poll(() => model.asked.length).toBe(times);
const isFree = (model: StandIn) => expect.poll(() => model.open.size).toBe(0);

describe("with a key", () => {
  it("answers only requests that send it, and tells a watcher whether it lives", async () => {
    const { url, post } = await serve(sayBack(), { key: KEY });
    const wrong = [undefined, "Bearer", `Basic ${KEY}`, KEY, `Bearer ${KEY} x`, "Bearer guess"];
    for (const authorization of wrong) {
      const response = await post(
        "chat/completions",
        chat("1"),
        authorization === undefined ? {} : { Authorization: authorization },
      );
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await apiErrorOf(response)).toMatchObject({
        ...{ type: "invalid_request_error", code: "invalid_api_key" },
        message: expect.stringContaining("Authorization: Bearer"),
      });
    }
    for (const path of ["/v1/models", "/v1/models/dates", "/nothing"]) {
      expect((await fetch(url + path)).status).toBe(401);
    }
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const right = await post("chat/completions", chat("1"), { Authorization: `Bearer ${KEY}` });
    expect(right.status).toBe(200);
  });

  it("answers wrong keys one at a time, late, and says so to those who try many at once", async () => {
    const { post } = await serve(sayBack(), { key: KEY });
    const tries = Array.from({ length: 25 }, (_, n) =>
      post("chat/completions", chat("1"), { Authorization: `Bearer guess-number-${n}-of-many` }),
    );
    // Those that wait are cut off when the server closes.
    for (const each of tries) each.catch(() => undefined);
    const first = await Promise.race(tries);
    expect(first.status).toBe(429);
    expect(first.headers.get("retry-after")).toBe("5");
    // The owner does not wait behind them.
    const right = await post("chat/completions", chat("1"), { Authorization: `Bearer ${KEY}` });
    expect(right.status).toBe(200);
  });

  it("reads no body of a stranger", async () => {
    const { port } = await serve(sayBack(), { key: KEY });
    const { socket, until } = await openRaw(port);
    socket.write(bytesOf("", ["Content-Length: 1000000", "Expect: 100-continue"]));
    expect(statusesIn(await until(/invalid_api_key/))).toEqual([401]);
  });
});

describe("pages of other origins", () => {
  const ORIGIN = "https://app.example";

  it("are refused, before a key is asked for", async () => {
    const { post, url } = await serve(sayBack(), { key: KEY });
    const sent: Record<string, string>[] = [
      { Origin: ORIGIN },
      { "Sec-Fetch-Site": "cross-site", Origin: ORIGIN },
    ];
    for (const headers of sent) {
      const response = await post("chat/completions", chat("1"), headers);
      expect(response.status).toBe(403);
      expect(await apiErrorOf(response)).toMatchObject({ type: "invalid_request_error" });
    }
    const asked = { Origin: ORIGIN, "Access-Control-Request-Method": "POST" };
    const preflight = await fetch(url + PATH, { method: "OPTIONS", headers: asked });
    expect(preflight.status).toBe(405);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(null);
  });

  it("are answered if they were allowed, with what a browser needs to show it, errors too", async () => {
    const { post, url } = await serve(sayBack(), { key: KEY, allowedOrigins: [ORIGIN] });
    const preflight = await fetch(url + PATH, {
      method: "OPTIONS",
      headers: {
        ...{ Origin: ORIGIN, "Access-Control-Request-Method": "POST" },
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": "authorization,content-type,x-stainless-os",
      vary: "Origin",
    });
    const from = (origin: string, key = KEY) =>
      post("chat/completions", chat("1"), {
        ...{ Origin: origin, "Sec-Fetch-Site": "cross-site", Authorization: `Bearer ${key}` },
      });
    const right = await from(ORIGIN);
    expect([right.status, right.headers.get("access-control-allow-origin")]).toEqual([200, ORIGIN]);
    expect(right.headers.get("access-control-expose-headers")).toContain("x-request-id");
    const wrong = await from(ORIGIN, "another-key-of-the-like");
    expect([wrong.status, wrong.headers.get("access-control-allow-origin")]).toEqual([401, ORIGIN]);
    for (const origin of ["https://evil.example", "null", `${ORIGIN}.evil.example`]) {
      const other = await from(origin);
      expect([other.status, other.headers.get("access-control-allow-origin")]).toEqual([403, null]);
      const asked = { Origin: origin, "Access-Control-Request-Method": "POST" };
      const refused = await fetch(url + PATH, { method: "OPTIONS", headers: asked });
      expect(refused.status).toBe(403);
    }
  });

  it("reach it under no name that could be rebound to this machine", async () => {
    const { port } = await serve();
    const { socket, until } = await openRaw(port);
    socket.write(ask("1").toString().replace("Host: localhost", "Host: evil.example"));
    expect(await until(/kit serve --allowed-host evil\.example/)).toContain("403");
  });
});

describe("a body", () => {
  it.each([
    ["{oops", 400, /^The body is not valid JSON in UTF-8\./],
    ["", 400, /^The body is not valid JSON/],
    ['"a"', 400, /^The body must be a JSON object\.$/],
    ["[]", 400, /must be a JSON object/],
    ["null", 400, /must be a JSON object/],
    ['{"temperature":NaN}', 400, /is not valid JSON/],
    ["[".repeat(500_000), 400, /is not valid JSON|at most 100 levels/],
    [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, 400, /at most 100 levels/],
    [`{"a":${"[".repeat(400_000)}${"]".repeat(400_000)}}`, 400, /at most 100 levels/],
    [JSON.stringify({ a: "x".repeat(1024 * 1024) }), 413, /^The body is too long\. Send at most/],
  ])("is refused with one sentence: %.20j", async (body, status, message) => {
    const { post, records } = await serve();
    const response = await post("chat/completions", body);
    expect(response.status).toBe(status);
    expect((await apiErrorOf(response)).message).toMatch(message);
    expect(records).toMatchObject([{ status }]);
  });

  it("must say that it is JSON, so that no form of a page passes for one", async () => {
    const { post } = await serve();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
      const response = await post("chat/completions", chat("1"), { "Content-Type": type });
      expect(response.status).toBe(415);
    }
    const packed = await post("chat/completions", chat("1"), { "Content-Encoding": "gzip" });
    expect(packed.status).toBe(415);
    const type = {
      ...{ "Content-Type": "Application/JSON; charset=utf-8", "Content-Encoding": "Identity" },
    };
    expect((await post("chat/completions", chat("1"), type)).status).toBe(200);
  });

  it("of invalid UTF-8 is refused", async () => {
    const { port } = await serve();
    const { socket, until } = await openRaw(port);
    const body = Buffer.from(JSON.stringify(chat("?")));
    body[body.indexOf("?")] = 0xff;
    socket.write(bytesOf(body));
    expect(statusesIn(await until(/is not valid JSON in UTF-8/))).toEqual([400]);
  });

  it("may come in chunks, and is refused as soon as they are too many", async () => {
    const { port } = await serve();
    const body = JSON.stringify(chat("in chunks"));
    const chunked = ["Transfer-Encoding: chunked"];
    const right = await openRaw(port);
    right.socket.write(bytesOf("", chunked));
    for (const letter of body) right.socket.write(`1\r\n${letter}\r\n`);
    right.socket.write("0\r\n\r\n");
    expect(await right.until(/"finish_reason"/)).toContain("in chunks");

    const endless = await openRaw(port);
    endless.socket.write(bytesOf("", chunked));
    const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
    for (let n = 0; n < 20; n++) endless.socket.write(chunk);
    expect(statusesIn(await endless.until(/too long/))).toEqual([413]);
  });

  it("that does not come ends with 408 and keeps no place", async () => {
    const limits = { requestMs: 300, headersMs: 300, checkMs: 50 };
    const model = sayBack();
    const { port } = await serve(model, { limits, maxWaiting: 0, maxConcurrent: 1 });
    for (const begun of [[], ["Transfer-Encoding: chunked"]]) {
      const { socket, closed } = await openRaw(port);
      socket.write(bytesOf("1\r\n{", ["Content-Length: 100", ...begun].slice(-1)));
      const answer = await closed();
      expect(statusesIn(answer)).toEqual([408]);
      expect(answer).toContain("took too long to arrive. Send it again.");
    }
    expect(model.asked).toEqual([]);
    const other = await openRaw(port);
    other.socket.write(ask("1"));
    await other.until(/finish_reason/);
  });

  it("is waited for where a client asks before it sends", async () => {
    const { port } = await serve();
    const body = JSON.stringify(chat("after all"));
    const headers = [`Content-Length: ${body.length}`, "Expect: 100-continue"];
    const { socket, until } = await openRaw(port);
    socket.write(bytesOf("", headers));
    await until(/100 Continue/);
    socket.write(body);
    expect(await until(/finish_reason/)).toContain("after all");
  });
});

describe("places", () => {
  it("are given in order; who finds too many waiting hears when to come again", async () => {
    const gates: (() => void)[] = [];
    const model = standIn(async ({ messages }) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      const text = JSON.stringify(messages);
      return { text, finishReason: "stop", promptTokens: 1, tokens: 1 };
    });
    const { post } = await serve(model, { maxConcurrent: 1, maxWaiting: 1 });
    const first = post("chat/completions", chat("first"));
    await isAsked(model, 1);
    const second = post("chat/completions", chat("second"));
    let third = await post("chat/completions", chat("third"));
    // The second may have come after it.
    while (third.ok) third = await post("chat/completions", chat("third"));
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toBe("1");
    expect(await apiErrorOf(third)).toMatchObject({
      ...{ type: "requests", code: "rate_limit_exceeded" },
    });
    gates[0]?.();
    expect(await (await first).text()).toContain("first");
    await isAsked(model, 2);
    gates[1]?.();
    expect(await (await second).text()).toContain("second");
  });

  it("are free at once when a client goes away, asked or waiting, streamed or whole", async () => {
    const model = neverAnswers();
    const { port, records } = await serve(model, { maxConcurrent: 2, maxWaiting: 8 });
    const clients = await Promise.all(Array.from({ length: 6 }, () => openRaw(port)));
    for (const [n, { socket }] of clients.entries())
      socket.write(ask("1", { stream: n % 2 === 0 }));
    await isAsked(model, 2);
    for (const { socket } of clients) socket.destroy();
    await isFree(model);
    await expect.poll(() => records.length).toBe(6);
    expect(records.every(({ status }) => status === 499)).toBe(true);
    const last = await openRaw(port);
    const before = model.asked.length;
    last.socket.write(ask("2"));
    await isAsked(model, before + 1);
  });

  it("are kept for clients that have closed their side and still read", async () => {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const model = standIn(async (_, onDelta) => {
      await gate;
      onDelta?.({ text: "after all" });
      return { text: "after all", finishReason: "stop", promptTokens: 1, tokens: 1 };
    });
    const { port } = await serve(model);
    const clients = await Promise.all([false, true].map(() => openRaw(port)));
    for (const [n, { socket }] of clients.entries()) socket.end(ask("1", { stream: n === 1 }));
    await isAsked(model, 2);
    for (const { until } of clients) await until(/(102 Processing[^]*){2}/);
    goOn();
    for (const { closed } of clients) {
      expect(await closed()).toMatch(/102 Processing\r\n\r\nHTTP\/1.1 200 OK[^]*after all/);
    }
  });

  it("are free when a client of HTTP/1.0, as a proxy, has closed its side", async () => {
    const model = neverAnswers();
    const { port } = await serve(model);
    const { socket, closed } = await openRaw(port);
    socket.write(ask("1").toString().replace("HTTP/1.1", "HTTP/1.0"));
    await isAsked(model, 1);
    socket.end();
    expect(await closed()).toBe("");
    await isFree(model);
  });

  it("are not kept for a body that its client cuts", async () => {
    const { port } = await serve();
    const { socket, closed } = await openRaw(port);
    socket.end(bytesOf('{"model"', ["Content-Length: 100"]));
    expect(statusesIn(await closed())).toEqual([400]);
  });

  it("are free when a client goes away that had sent more than is read", async () => {
    const model = neverAnswers();
    const { port } = await serve(model);
    const { socket } = await openRaw(port);
    await new Promise((sent) => socket.write(Buffer.concat(Array(2_000).fill(ask("1"))), sent));
    await isAsked(model, 1);
    socket.destroy();
    await isFree(model);
  });

  it("hold one request of a connection at a time, however many it sends", async () => {
    const model = sayBack();
    const { port } = await serve(model, { maxConcurrent: 1, maxWaiting: 0 });
    const { socket, until } = await openRaw(port);
    const texts = Array.from({ length: 20 }, (_, n) => `number-${n}-`);
    socket.write(Buffer.concat(texts.map((text) => ask(text))));
    const answers = await until(/(finish_reason[^]*){20}/);
    expect(statusesIn(answers)).toEqual(texts.map(() => 200));
    const said = [...answers.matchAll(/"content":"(.*?)"/g)].map(([, text]) => text);
    expect(said).toEqual(texts);
  });
});

/** Pieces until it is told to stop. */
function talksOn(piece: string) {
  let told = 0;
  const model = standIn(async ({ signal }, onDelta) => {
    while (!signal?.aborted) {
      onDelta?.({ text: piece });
      told++;
      if (told % 100 === 0) await new Promise(setImmediate);
    }
    throw signal.reason as Error;
  });
  return { ...model, told: () => told };
}

it("a reader that reads nothing is cut before it costs much memory", async () => {
  const model = talksOn("x".repeat(1000));
  const { port } = await serve(model);
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.pause();
  socket.write(ask("1", { stream: true }));
  await isAsked(model, 1);
  const before = process.memoryUsage().rss;
  await isFree(model);
  // What the system's own buffers hold, and a MiB.
  expect(model.told()).toBeLessThan(40_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
});

describe("closing", () => {
  it("lets answers in work end, refuses others, and then ends", async () => {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const model = standIn(async (_, onDelta) => {
      onDelta?.({ text: "half" });
      await gate;
      return { text: "half", finishReason: "stop", promptTokens: 1, tokens: 1 };
    });
    const server = await serve(model);
    const kept = await openRaw(server.port);
    kept.socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await kept.until(/"ok"/);
    const response = await server.post("chat/completions", chat("1", { stream: true }));
    const late = await openRaw(server.port);
    late.socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n`);
    const closing = server.close(60_000);
    late.socket.write("\r\n");
    expect(await late.until(/closing/)).toContain("503");
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    goOn();
    expect(await response.text()).toContain("[DONE]");
    await closing;
    expect(model.isClosed()).toBe(true);
  });

  it("cuts answers that take too long, which their clients see", async () => {
    const model = talksOn("word ");
    const { post, close } = await serve(model);
    const response = await post("chat/completions", chat("1", { stream: true }));
    await close(50);
    await expect(response.text()).rejects.toThrow("terminated");
    await isFree(model);
  });
});

it("a request that asks for nothing here hears of chat completions", async () => {
  const { url } = await serve();
  const nothing = await fetch(`${url}/v1/nothing`);
  expect(nothing.status).toBe(404);
  expect(await apiErrorOf(nothing)).toMatchObject({
    ...{ code: "not_found", message: expect.stringContaining("/v1/chat/completions") },
  });
  const got = await fetch(url + PATH);
  expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
});

it("a monitor may ask for the head alone", async () => {
  const { url } = await serve();
  for (const path of ["/health", "/v1/models", "/v1/models/latest"]) {
    const [head, whole] = await Promise.all(
      ["HEAD", "GET"].map((method) => fetch(url + path, { method })),
    );
    expect([head!.status, await head!.text()]).toEqual([200, ""]);
    expect(head!.headers.get("content-length")).toBe(whole!.headers.get("content-length"));
  }
});

it("malformed requests get an error of OpenAI's form too", async () => {
  const { port } = await serve();
  for (const [bytes, status] of [
    ["nonsense\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: localhost\r\nA: ${"a".repeat(40_000)}\r\n\r\n`, 431],
  ] as const) {
    const { socket, closed } = await openRaw(port);
    socket.write(bytes);
    const text = await closed();
    expect(statusesIn(text)).toEqual([status]);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4))).toMatchObject({
      error: { type: "invalid_request_error", message: expect.any(String), code: null },
    });
  }
});

it("names that every object has are no models", async () => {
  const { post } = await serve();
  for (const model of [
    "__proto__",
    "constructor",
    "toString",
    "../../etc/passwd",
    "x".repeat(9999),
  ]) {
    const response = await post("chat/completions", { ...chat("1"), model });
    expect(response.status).toBe(404);
    const { message, code } = await apiErrorOf(response);
    expect(code).toBe("model_not_found");
    expect(message.length).toBeLessThan(250);
  }
});
