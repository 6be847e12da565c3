import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import {
  type Command,
  createTinyProject,
  pacedSource,
  runKit,
  startKit,
  tinySource,
} from "../kit.ts";

async function startUi(project: string): Promise<Command & { url: string; line: string }> {
  const command = startKit(project, ["ui", "--port", "0", "--no-open"]);
  const line = await command.printed(/\n/);
  return { ...command, line, url: /http:\S+/.exec(line)?.[0] ?? "" };
}

/** A server that holds a port of the loopback interface until the test has finished. */
async function holdPort(): Promise<number> {
  const server: Server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Reads a stream of text until it matches. */
async function readUntil(response: Response, pattern: RegExp): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (pattern.test(text)) return text;
  }
  throw new Error(`${String(pattern)} did not come:\n${text}`);
}

describe("kit ui", () => {
  it("prints one line with the URL when it answers, and serves the page there", async () => {
    const project = createTinyProject();
    const { url, line, child, ended } = await startUi(project);
    expect(line).toBe(`kit ui  ${url}  ${project}  stop with Ctrl-C\n`);
    expect(url).toMatch(/^http:\/\/localhost:\d+\/$/);
    const page = await fetch(url);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("<title>");
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 0, stdout: line, stderr: "" });
  });

  it("exits with 1 and a sentence when the named port is taken", async () => {
    const port = await holdPort();
    const project = createTinyProject();
    expect(await runKit(project, ["ui", "--no-open", "--port", String(port)])).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(new RegExp(`^kit: Port ${port} .*\n$`)) as string,
    });
  });

  it("exits with 1 and a sentence for an address that is not this machine's", async () => {
    const { code, stderr } = await runKit(createTinyProject(), [
      ...["ui", "--no-open", "--port", "0", "--host", "192.0.2.1"],
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kit: Cannot listen on 192\.0\.2\.1 port 0: [^\n]+\n$/);
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "ends on %s with exit code 0, and its run is cancelled",
    async (signal) => {
      const project = createTinyProject(pacedSource());
      const { url, child, ended } = await startUi(project);
      const response = await fetch(`${url}api/train`, { method: "POST" });
      const rest = await readUntil(response, /step +1\//);
      const jobs = createJobStore(project);
      expect(rest).toContain(`job ${jobs.list()[0]?.id} tiny\n`);
      child.kill(signal);
      child.kill(signal);
      expect((await ended).code).toBe(0);
      expect(jobs.list()).toMatchObject([{ status: "cancelled" }]);
    },
  );

  it("says at once that its run ends, and kills it at a second Ctrl-C", async () => {
    const before = `process.on("SIGTERM", () => {}); process.on("SIGINT", () => {});`;
    const options = `callbacks: { onCancelled: () => new Promise(() => setInterval(() => {}, 1_000)) },`;
    const project = createTinyProject(pacedSource({ before, options }));
    const { url, child, ended, printed } = await startUi(project);
    const response = await fetch(`${url}api/train`, { method: "POST" });
    await readUntil(response, /step +1\//);
    child.kill("SIGINT");
    await printed(
      /\nstopping the run, which keeps its checkpoints; press Ctrl-C again to stop now\n/,
    );
    const again = setInterval(() => child.kill("SIGINT"), 50);
    onTestFinished(() => clearInterval(again));
    expect((await ended).code).toBe(0);
    expect(createJobStore(project).list()).toMatchObject([{ status: "cancelled" }]);
  });

  it("answers on a project without a trainer, and says what is missing", async () => {
    const project = createTinyProject(`export default 1;`);
    const { url } = await startUi(project);
    expect(await (await fetch(`${url}api/manifest`)).json()).toEqual({ trainer: null });
  });
});

describe("what is edited between two runs of a page", () => {
  const source = (name: string) => tinySource({ name, options: "maxSteps: 1," });

  /** Clicks as the page does, and returns the name of the trainer that ran. */
  async function train(url: string): Promise<string | undefined> {
    const output = await (await fetch(`${url}api/train`, { method: "POST" })).text();
    expect(output).toContain("completed in ");
    return /^job \S+ (\S+)$/m.exec(output)?.[1];
  }

  it("shows as the manifest's error when it no longer builds, and the last bundle still runs", async () => {
    const project = createTinyProject(source("one"));
    const { url } = await startUi(project);
    await fetch(`${url}api/manifest`);
    writeFileSync(join(project, "src/kit/index.ts"), "const one = ;");
    const manifest = await fetch(`${url}api/manifest`);
    expect(manifest.status).toBe(422);
    expect(await manifest.json()).toEqual({ error: 'src/kit/index.ts:1:13: Unexpected ";"' });
    expect(existsSync(join(project, ".kit/build/index.mjs"))).toBe(true);
    expect(await train(url)).toBe("one");
    const log = readFileSync(join(project, ".kit/run/output.log"), "utf8");
    expect(log).toContain(" one\n");
  });
});
