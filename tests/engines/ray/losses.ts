import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { follow } from "../../../engines/ray/follow.ts";
import { createRayJobs } from "../../../engines/ray/rayJobs.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { createHarm } from "../../faults/harm.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { type Place, TOKEN } from "./environment.ts";
import { expectSame, stepOf, train, workersOf } from "./training.ts";

/** How long the test waits for a head that is gone, in ms. */
const LOST_MS = 2_000;
/** More than half of a node's: each worker has a node of its own. */
const APART = { cpusPerWorker: 4 };

/** What no other training survives beside it: in this order, since each leaves less of the cluster. */
export function describeLosses(at: () => Place): void {
  it("has kept each job's reports on its driver's node, and the token out of every file", async () => {
    const { cluster, scratch, storage } = at();
    const collectors = await list(cluster.address, "actors", "class_name", "Collector");
    expect(collectors).not.toEqual([]);
    const nodes = await list(cluster.address, "nodes", "is_head_node", "true");
    expect(nodes).toHaveLength(1);
    // One whose job ended before it was placed is on none.
    const places = collectors.flatMap((collector) => collector["node_id"] ?? []);
    expect([...new Set(places)]).toEqual([nodes[0]?.["node_id"]]);
    expect(filesWith(TOKEN, scratch.root)).toEqual([]);
    expect(filesWith(TOKEN, storage)).toEqual([]);
  });

  it("fails at once when the process that has the workers' reports is killed", async () => {
    const { cluster, scratch, createEngine } = at();
    let killed: Promise<void> | undefined;
    const { error, id } = await train(createEngine(), scratch, {
      more: { maxSteps: 1_000_000, saveSteps: 1_000_000 },
      onEvent({ event }) {
        if (event === "training.log") killed ??= killCollector(cluster.address);
      },
    });
    await killed;
    expect(error).toMatchObject({ name: "KitError", code: "WORKER_FAILED" });
    expect(error?.message).toMatch(
      /^The Python engine failed: ActorDiedError: .* See its log there: ray job logs \S+\.$/,
    );
    await vi.waitFor(() => expect(workersOf(id)).toEqual([]), { timeout: PATIENCE_MS });
  });

  it("trains on after a node is lost: each step once, and what was announced stays", async () => {
    const { cluster, scratch, storage, createEngine } = at();
    const notes: string[] = [];
    let isLost = false;
    const [ours, theirs] = await Promise.all([
      train(createEmbeddedEngine(), scratch),
      train(createEngine({ workers: 2, ...APART }), scratch, {
        onNote: (text) => notes.push(text),
        onEvent({ event }) {
          // At once: Ray Train does not know of it for another second or two.
          if (event !== "checkpoint.saved" || isLost) return;
          isLost = true;
          void cluster.tell("lose").then(() => cluster.tell("add"));
        },
      }),
    ]);
    expect(isLost).toBe(true);
    // Not from the start.
    expect(notes).toContainEqual(
      expect.stringMatching(/^warning: a worker was lost; .* step (51|101|151)$/),
    );
    expectSame("node lost during training", theirs, ours);
    const stored = readdirSync(join(storage, theirs.id));
    // Before the loss; what is trained again has another name.
    expect(stored).toContain("step-50");
    for (const step of theirs.saved) {
      const [kept = ""] = stored.filter((name) => new RegExp(`^step-${step}(-2)?$`).test(name));
      expect(readdirSync(join(storage, theirs.id, kept))).toContain("model.safetensors");
    }
  });

  it("names the package that one node lacks, and tries no second time", async () => {
    const { cluster, scratch, createEngine } = at();
    await cluster.tell("add lacking");
    const notes: string[] = [];
    const { error } = await train(createEngine({ workers: 3, ...APART }), scratch, {
      more: { batchSize: 6 },
      onNote: (text) => notes.push(text),
    });
    expect(error).toMatchObject({ name: "KitError", code: "PYTHON_UNFIT" });
    expect(error?.message).toMatch(/^The Python at \S+ lacks peft\. Install with: /);
    expect(notes.filter((text) => text.includes("was lost"))).toEqual([]);
    await cluster.tell("lose");
  });

  it("says that it lost contact when the head is gone", async () => {
    const harm = createHarm("Ray: head killed");
    const { cluster, scratch, createEngine } = at();
    const { address } = cluster;
    const [abort, reason] = [new AbortController(), new Error("enough")];
    const notes: string[] = [];
    let following: Promise<unknown> | undefined;
    let running = "";
    const trained = await train(createEngine(), scratch, {
      more: { maxSteps: 1_000_000, saveSteps: 1_000_000 },
      signal: abort.signal,
      onNote: (text) => notes.push(text),
      onStart: (id) => (running = id),
      onEvent({ event }) {
        following ??= endOf(followImpatiently(address, running)).finally(() => abort.abort(reason));
        if (event === "training.started") void cluster.tell("behead");
      },
    });
    // It could not be stopped there.
    const unreachable = { name: "KitError", code: "CLUSTER_UNREACHABLE" };
    harm.status(trained.error, expect.objectContaining(unreachable));
    const lost = await following;
    harm.also(lost, expect.objectContaining(unreachable));
    const steps = trained.steps.map(stepOf);
    harm.events(
      steps,
      steps.map((_, i) => i + 1),
    );
    expect(String(lost)).toContain(`Lost contact with the Ray cluster at ${address}`);
    expect(notes.at(-1)).toContain(`could not stop ${running} on the Ray cluster at`);
    harm.expectNone();
  });
}

async function followImpatiently(address: string, id: string): Promise<void> {
  const remote = createRayJobs(createCluster({ address, token: TOKEN }));
  const { signal } = new AbortController();
  const job = { id, secret: undefined };
  for await (const message of follow(remote, job, signal, { lostMs: LOST_MS })) void message;
}

/** Of the one training that runs, once the cluster has seen the ends of those before it. */
async function killCollector(address: string): Promise<void> {
  const collector = await vi.waitFor(
    async () => {
      const collectors = await list(address, "actors", "class_name", "Collector");
      const alive = collectors.filter(({ state }) => state === "ALIVE");
      expect(alive).toHaveLength(1);
      return alive[0];
    },
    { timeout: PATIENCE_MS },
  );
  process.kill(Number(collector?.["pid"]), "SIGKILL");
}

async function endOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((thrown: unknown) => thrown);
}

async function list(address: string, kind: string, key: string, value: string) {
  const asked = `filter_keys=${key}&filter_predicates=%3D&filter_values=${value}&limit=1000&detail=true`;
  const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
  const answer = await fetch(`${address}/api/v0/${kind}?${asked}`, { headers });
  const { data } = (await answer.json()) as { data: { result: { result: unknown[] } } };
  return data.result.result.filter(isRecord);
}

function filesWith(word: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(word));
}
