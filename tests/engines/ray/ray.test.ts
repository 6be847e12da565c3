import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ray } from "kit/engines";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Engine, TrainOptions } from "../../../protocol/engine.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { RayOptions } from "../../../protocol/rayOptions.ts";
import type { AskedConfig } from "../../../protocol/trainConfig.ts";
import { describeEngine } from "../contract.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import {
  type RayCluster,
  PYTHON,
  TOKEN,
  createRayEngine,
  hasRay,
  startCluster,
} from "./environment.ts";
import { startProxy } from "./proxy.ts";

/** Each training is a job of the cluster, of processes that start for it; one test has four. */
const TIMEOUT_MS = 300_000;
const SHAPE = { layers: 1, heads: 2, width: 16, context: 48 };
/** Of different lengths, so that a mean over workers is not one over tokens. */
const ROWS = Array.from({ length: 7 }, (_, i) => ({
  prompt: `${i}`,
  completion: `${i % 2}`.repeat(1 + 3 * (i % 3)),
}));
/** Long enough for something to happen meanwhile. */
const STEPS = 200;

let cluster: RayCluster;

describe.runIf(hasRay)("with Ray", () => {
  const storage = mkdtempSync(join(tmpdir(), "kit-storage-"));
  const createEngine = (options: RayOptions = {}) =>
    createRayEngine({ address: cluster.address, token: TOKEN, storage, ...options });

  beforeAll(async () => {
    // Answers are this machine's.
    vi.stubEnv("KIT_PYTHON", PYTHON);
    vi.stubEnv("OMP_NUM_THREADS", "1");
    cluster = await startCluster();
  }, TIMEOUT_MS);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await cluster.close();
    rmSync(storage, { recursive: true, force: true });
  }, TIMEOUT_MS);

  describeEngine("ray", createEngine, { timeout: TIMEOUT_MS, concurrent: true });

  describe("the ray engine's cluster", { timeout: TIMEOUT_MS }, () => {
    it("says in a sentence what it cannot reach, or may not use", async () => {
      const other = createServer((_, answer) => answer.end("hello")).listen(0, "127.0.0.1");
      onTestFinished(() => void other.close());
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const refusals: [RayOptions, string, RegExp][] = [
        [{ address: "http://127.0.0.1:1" }, "CLUSTER_UNREACHABLE", /^Nothing answers at http/],
        [{ address: `http://127.0.0.1:${port}` }, "CLUSTER_UNFIT", / is not Ray\. Use /],
        [{ token: undefined }, "CLUSTER_REFUSED", / asks for a token\. Set RAY_AUTH_TOKEN/],
        [{ token: "f".repeat(32) }, "CLUSTER_REFUSED", / refuses the token\. Set /],
        [{ storage: undefined }, "CLUSTER_UNFIT", / has 2 nodes, which need one place /],
      ] as [RayOptions, string, RegExp][];
      // Which may have a token of its user.
      const home = process.env["HOME"];
      vi.stubEnv("HOME", scratchDirectory());
      onTestFinished(() => void vi.stubEnv("HOME", home));
      for (const [options, code, message] of refusals) {
        const { error } = await train(createEngine(options));
        expect(error).toMatchObject({ name: "KitError", code });
        expect(error?.message).toMatch(message);
        expect(error?.message).not.toContain("f".repeat(32));
      }
    });

    it("shares each batch between two workers, through a network that fails", async () => {
      const proxy = await startProxy(cluster.address);
      onTestFinished(() => proxy.close());
      const [ours, theirs] = await Promise.all([
        train(createEmbeddedEngine()),
        train(createEngine({ workers: 2, address: proxy.address }), {
          onStart: () => proxy.loseAnswer("POST /api/jobs/"),
          onEvent({ event, data }) {
            if (event !== "training.log") return;
            if (data.step === 20) proxy.cut();
            if (data.step === 40) proxy.mute();
          },
        }),
      ]);
      expect(theirs.error).toBeUndefined();
      expectSame(theirs.steps, ours.steps);
    });

    it("trains on after a worker is killed: each step once, and the same losses", async () => {
      const notes: string[] = [];
      let killed = 0;
      const [ours, theirs] = await Promise.all([
        train(createEmbeddedEngine()),
        train(createEngine({ workers: 2 }), {
          onNote: (text) => notes.push(text),
          onEvent({ event, data }) {
            if (event !== "training.log" || data.step < 60 || killed > 0) return;
            killed = workersOf(cluster.pid)[0] ?? 0;
            process.kill(killed, "SIGKILL");
          },
        }),
      ]);
      expect(killed).toBeGreaterThan(0);
      expect(theirs.error).toBeUndefined();
      expect(notes).toContainEqual(
        expect.stringMatching(/^warning: a worker was lost; .* step \d/),
      );
      expectSame(theirs.steps, ours.steps);
      expect(theirs.saved).toEqual(ours.saved);
    });

    it("says that it waits for workers that the cluster lacks, and stops there when cancelled", async () => {
      const abort = new AbortController();
      const reason = new Error("enough");
      const { error, directory } = await train(createEngine({ workers: 6 }), {
        more: { batchSize: 6 },
        signal: abort.signal,
        onNote: (text) => text.includes("the cluster has 4") && abort.abort(reason),
      });
      expect(error).toBe(reason);
      const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
      const job = await fetch(`${cluster.address}/api/jobs/${basename(directory)}`, { headers });
      const told = await job.text();
      expect(JSON.parse(told)).toMatchObject({ status: "STOPPED" });
      expect(told).not.toContain(TOKEN);
    });

    it("fetches adapters through the dashboard where this machine does not see the storage", async () => {
      const elsewhere = createEngine({ storage: `file://${storage}` });
      const lora = { r: 2, alpha: 4 };
      const { error, directory, saved } = await train(elsewhere, { more: { lora, maxSteps: 1 } });
      expect(error).toBeUndefined();
      expect(saved).toEqual([1]);
      const adapter = join(directory, "artifacts/step-1");
      expect(readdirSync(adapter)).toContain("adapter_model.safetensors");
      const model = await elsewhere.load(adapter);
      expect(await model.infer({ prompt: "1", maxTokens: 2 })).toMatchObject({ tokens: 2 });
      await model.close();
    });
  });
});

interface Listening extends Partial<Pick<TrainOptions, "signal" | "onEvent" | "onNote">> {
  more?: Partial<AskedConfig>;
  onStart?: () => void;
}

async function train(engine: Engine, { more, onStart, onEvent, ...listening }: Listening = {}) {
  const directory = scratchDirectory();
  const path = scratchFile("rows.jsonl", jsonl(ROWS));
  const config = engine.prepare({
    ...{ model: SHAPE, dataset: { type: "jsonl", path }, maxSteps: STEPS, batchSize: 4 },
    ...{ learningRate: 0.01, warmupSteps: 2, loggingSteps: 1, saveSteps: 50, ...more },
  });
  expect(JSON.stringify(config)).not.toContain(TOKEN);
  const events: EngineEvent[] = [];
  onStart?.();
  const ended = engine.train({
    ...{ config, directory, signal: new AbortController().signal, ...listening },
    onEvent(event) {
      events.push(event);
      onEvent?.(event);
    },
  });
  const error = await ended.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  const steps = events.flatMap(({ event, data }) => (event === "training.log" ? [data] : []));
  const saved = events.flatMap(({ event, data }) =>
    event === "checkpoint.saved" ? [data.step] : [],
  );
  return { directory, error, steps, saved };
}

type Steps = Awaited<ReturnType<typeof train>>["steps"];

/** Each step once, in order, with the same loss; sums of float32 in another order drift apart. */
function expectSame(theirs: Steps, ours: Steps) {
  expect(theirs.map(({ step }) => step)).toEqual(ours.map(({ step }) => step));
  const near = ours.map(({ loss }) => expect.closeTo(loss ?? NaN, 3) as number);
  expect(theirs.map(({ loss }) => loss)).toEqual(near);
}

/** The processes that train, of those that a process has started. */
function workersOf(pid: number): number[] {
  const listed = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  const all = listed.split("\n").map((line) => line.trim().split(/\s+/));
  const parents = new Map(all.map(([one, parent]) => [Number(one), Number(parent)]));
  function isOurs(one: number): boolean {
    const parent = parents.get(one);
    return parent !== undefined && (parent === pid || isOurs(parent));
  }
  const training = all.filter(([, , ...words]) => /^ray::.*RayTrainWorker/.test(words.join(" ")));
  return training.map(([one]) => Number(one)).filter(isOurs);
}

describe("the options of ray()", () => {
  it.each<[object, RegExp]>([
    [{ address: "head:8265" }, /^ray: "address" must be an http:/],
    [{ address: "http://me:secret@head" }, /^ray: "address" must be .* without a password/],
    [{ workers: 0 }, /^ray: "workers" must be a whole number of at least 1, but is 0\.$/],
    [{ token: 12_345 }, /^ray: "token" must be a non-empty string\.$/],
    [{ storage: "runs" }, /^ray: "storage" must be an absolute path or a URL, but is 'runs'\.$/],
    [{ nodes: 2 }, /^ray: unknown option "nodes"\. It takes address, token, workers, /],
  ])("refuses %j", (options, message) => {
    expect(() => ray(options)).toThrow(message);
  });

  it("shares a batch out evenly, or says so before anything starts", () => {
    const engine = ray({ address: "http://head:8265/", workers: 3, token: TOKEN });
    const dataset = { type: "jsonl", path: "rows.jsonl" } as const;
    expect(() => engine.prepare({ dataset })).toThrow(
      /^"batchSize" must be a multiple of ray's 3 /,
    );
    const { engine: settings } = engine.prepare({ dataset, batchSize: 6 });
    expect(settings).toEqual({
      ...{ name: "ray", address: "http://head:8265" },
      ...{ workers: 3, cpusPerWorker: 1, gpusPerWorker: 0 },
    });
  });

  it("takes its address from Ray's own variables, or asks for it", () => {
    const dataset = { type: "jsonl", path: "rows.jsonl" } as const;
    vi.stubEnv("RAY_API_SERVER_ADDRESS", undefined);
    vi.stubEnv("RAY_ADDRESS", "auto");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => ray().prepare({ dataset })).toThrow(/^No Ray cluster is named\. Set ray\(/);
    vi.stubEnv("RAY_ADDRESS", "http://head:8265");
    expect(ray().prepare({ dataset }).engine).toMatchObject({ address: "http://head:8265" });
  });
});
