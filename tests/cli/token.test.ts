import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTinyProject, runKit, startKit, tinySource } from "../kit.ts";

/** Where more than this machine's users could reach it; nothing in these tests comes from outside. */
const OPEN_TO_ALL = ["ui", "--port", "0", "--no-open", "--host", "0.0.0.0"];

const FIXED = "a-token-of-its-own";

/** Follows a link as a browser does, with the cookie that it is given. */
async function followLink(link: string): Promise<Response> {
  const { status, headers } = await fetch(link, { redirect: "manual" });
  expect(status).toBe(303);
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  return fetch(new URL(headers.get("location") ?? "", link), { headers: { cookie } });
}

describe("kit ui on an address that others can reach", () => {
  it.each(["0.0.0.0", "0", "0x0", "::", "0:0::0"])(
    "prints a link with a token that works, and never an address that leads nowhere: %s",
    async (host) => {
      const { printed } = startKit(createTinyProject(), [...OPEN_TO_ALL, "--host", host]);
      const line = await printed(/\n/);
      const link = /http:\S+/.exec(line)?.[0] ?? "";
      expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/);
      expect(line).not.toContain(`//${host}`);
      expect((await fetch(new URL("/", link))).status).toBe(401);
      const page = await followLink(link);
      expect(page.status).toBe(200);
      expect(page.url).not.toContain("token");
      expect(await page.text()).toContain('<div id="app">');
    },
  );

  it("takes its token from KIT_UI_TOKEN, which no run gets to see", async () => {
    const before = `console.log("token seen:", String(process.env.KIT_UI_TOKEN));`;
    const project = createTinyProject(tinySource({ before }));
    const { printed } = startKit(project, OPEN_TO_ALL, { KIT_UI_TOKEN: FIXED });
    const link = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
    expect(new URL(link).searchParams.get("token")).toBe(FIXED);
    const { headers } = await fetch(link, { redirect: "manual" });
    const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
    const train = new URL("/api/train", link);
    const output = await (await fetch(train, { method: "POST", headers: { cookie } })).text();
    expect(output).toMatch(/^token seen: undefined\n/);
  });

  it("warns of what --no-token means, and asks for none", async () => {
    const { printed } = startKit(createTinyProject(), [...OPEN_TO_ALL, "--no-token"]);
    const all = await printed(/http:\S+ [\s\S]*anyone who reaches/);
    expect(all).toContain("anyone who reaches 0.0.0.0 can run this project's code");
    const url = /http:\S+/.exec(all)?.[0] ?? "";
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect((await fetch(url)).status).toBe(200);
  });

  it.each([
    ["--host", "", "an address or a host name"],
    ["--host", "http://x", "an address or a host name"],
    ["--host", "localhost:80", "an address or a host name"],
    ["--host", "1.2.3.4.5", "an address or a host name"],
    ["--allowed-host", "https://dev.example", "a host name such as dev.example"],
  ])("%s %j is wrong use: exit code 2 and what to pass", async (option, value, wanted) => {
    const project = createTinyProject();
    const { code, stderr } = await runKit(project, ["ui", "--no-open", option, value]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `kit: ${option} "${value}" is not valid. Pass ${wanted}.\n`,
    });
  });

  it("wants no token on this machine's own address", async () => {
    const { printed } = startKit(createTinyProject(), ["ui", "--port", "0", "--no-open"]);
    const url = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
    expect((await fetch(url)).status).toBe(200);
  });

  it.each(["localhost", "127.0.0.1"])(
    "asks for KIT_UI_TOKEN on this machine's own address too: %s",
    async (host) => {
      const options = ["ui", "--port", "0", "--no-open", "--host", host];
      const { printed } = startKit(createTinyProject(), options, { KIT_UI_TOKEN: FIXED });
      const link = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
      expect(link).toMatch(new RegExp(`^http://${host}:\\d+/\\?token=${FIXED}$`));
      expect((await fetch(new URL("/", link))).status).toBe(401);
      expect((await followLink(link)).status).toBe(200);
    },
  );

  it.each([["localhost"], ["0.0.0.0"]])(
    "a KIT_UI_TOKEN that could be guessed is wrong use, and says how to make one: %s",
    async (host) => {
      const options = ["ui", "--no-open", "--port", "0", "--host", host];
      const env = { KIT_UI_TOKEN: "fifteen letters" };
      const { ended, printed } = startKit(createTinyProject(), options, env);
      const said =
        'kit: KIT_UI_TOKEN needs at least 16 characters. Create one with: node -p "crypto.randomUUID()"\n';
      expect(await printed(/\n/)).toBe(said);
      expect(await ended).toEqual({ code: 2, stdout: "", stderr: said });
    },
  );

  it.each(["0.0.0.0", "::", "127.0.0.1", "::1", "localhost", "LOCALHOST", "kit.localhost."])(
    "prints a link that leads to nobody else on this machine: %s",
    async (host) => {
      const options = ["ui", "--port", "0", "--no-open", "--host", host];
      const { printed } = startKit(createTinyProject(), options);
      const link = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
      const { hostname, port } = new URL(link);
      const leadsTo = /localhost/.test(hostname)
        ? ["127.0.0.1", "::1"]
        : [hostname.replace(/^\[|\]$/g, "")];
      for (const address of leadsTo) {
        const other = createServer().listen({ host: address, port: Number(port) });
        onTestFinished(() => void other.close());
        await expect(once(other, "listening")).rejects.toMatchObject({ code: "EADDRINUSE" });
      }
    },
  );
});
