import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { canonical, jsonl } from "../embedded/scratch.ts";
import { type Place, TOKEN } from "./environment.ts";
import { startProxy } from "./proxy.ts";
import { ROWS, expectSame, train, workersOf } from "./training.ts";

/** The first file of the package, in a worker's own folder: this process has no such file. */
const FIRST_FILE = "file:///proc/self/cwd/data/0";

/** Trainings of more than one worker, and what befalls them. */
export function describeSharing(at: () => Place): void {
  it("shares each batch between two workers, through a network that fails", async () => {
    const { cluster, scratch, createEngine } = at();
    const proxy = await startProxy(cluster.address);
    const listed: string[] = [];
    const logs = () => proxy.requests.filter((request) => request.includes(" /api/v0/logs/"));
    const { failures } = proxy;
    const [ours, theirs] = await Promise.all([
      train(createEmbeddedEngine(), scratch),
      train(createEngine({ workers: 2, address: proxy.address }), scratch, {
        onStart: () => proxy.loseAnswer("POST /api/jobs/"),
        onEvent({ event, data }) {
          if (event !== "training.log") return;
          if (data.step === 20) proxy.cut();
          // By the connection that came after it.
          if (logs().length === 2 && failures.muted === 0) proxy.mute();
          if (data.step === 60) listed.push(execFileSync("ps", ["-eo", "args"]).toString());
        },
      }),
    ]);
    expect(failures.lost).toBe(1);
    for (const sockets of [failures.cut, failures.muted]) expect(sockets).toBeGreaterThan(0);
    // One for each connection to the log that failed, and the last.
    expect(logs().length).toBeGreaterThanOrEqual(3);
    proxy.close();
    expectSame("submit unanswered, connection cut, then mute", theirs, ours);
    expect(listed).toHaveLength(1);
    expect(listed[0]).not.toContain(TOKEN);
  });

  it("learns from pairs by two workers as by one", async () => {
    const { scratch, createEngine } = at();
    const pairs = ROWS.map(({ prompt, completion }) => ({
      ...{ prompt, chosen: completion, rejected: `${completion}2` },
    }));
    const path = scratch.file("pairs.jsonl", canonical(pairs, PAIR_FORMAT));
    const more = {
      dataset: { type: "jsonl", path },
      objective: { type: "dpo" },
      maxSteps: 6,
    } as const;
    const [ours, theirs] = await Promise.all([
      train(createEmbeddedEngine(), scratch, { more }),
      train(createEngine({ workers: 2 }), scratch, { more }),
    ]);
    const aggregateValues = ({ steps }: typeof ours) =>
      steps.map(({ loss, metrics = {} }) => [loss ?? NaN, metrics["rewardsMargins"] ?? NaN]);
    const near = aggregateValues(ours).map((step) =>
      step.map((one): unknown => expect.closeTo(one, 4)),
    );
    expect(near).toHaveLength(6);
    expect(aggregateValues(theirs)).toEqual(near);
  });

  it("trains on after a worker is killed: each step once, and the same losses, of rows that only workers see", async () => {
    const { scratch, createEngine } = at();
    const [file, same] = [1, 2].map((one) => scratch.file(`${one}.jsonl`, jsonl(ROWS)));
    const of = (...path: (string | undefined)[]) =>
      ({ dataset: { type: "jsonl", path: path as string[] } }) as const;
    const notes: string[] = [];
    let id = "";
    let killed = 0;
    const [ours, theirs] = await Promise.all([
      train(createEmbeddedEngine(), scratch, { more: of(file, same) }),
      train(createEngine({ workers: 2 }), scratch, {
        more: of(file, FIRST_FILE),
        onStart: (started) => (id = started),
        onNote: (text) => notes.push(text),
        onEvent({ event, data }) {
          if (event !== "training.log" || data.step < 60 || killed > 0) return;
          killed = workersOf(id)[0] ?? 0;
          // 0 is this process's own group.
          if (killed === 0) return;
          process.kill(killed, "SIGKILL");
        },
      }),
    ]);
    expect(killed).toBeGreaterThan(0);
    expect(notes).toContainEqual(expect.stringMatching(/^warning: a worker was lost; .* step \d/));
    expectSame("worker killed (SIGKILL)", theirs, ours);
  });

  it("tells a malformed row that only the workers see once, and tries no second time", async () => {
    const { cluster, scratch, createEngine } = at();
    const { href } = pathToFileURL(scratch.file("bad.jsonl", `${jsonl(ROWS)}{"prompt":`));
    const notes: string[] = [];
    const { id, error, steps } = await train(createEngine({ workers: 2 }), scratch, {
      more: { evalDataset: { type: "jsonl", path: href } },
      onNote: (text) => notes.push(text),
    });
    expect(error).toMatchObject({ name: "KitError", code: "DATASET_INVALID" });
    expect(error?.message).toContain(
      `${href}:${ROWS.length + 1}:11: not valid JSON (Expecting value). At a URL, Kit reads only rows of {messages} or `,
    );
    expect(steps).toEqual([]);
    expect(notes.filter((text) => text.includes("was lost"))).toEqual([]);
    const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
    const answer = await fetch(`${cluster.address}/api/jobs/${id}/logs`, { headers });
    const { logs } = (await answer.json()) as { logs: string };
    expect(logs.split('"type": "failed"')).toHaveLength(2);
  });

  it("says that it waits for CPUs and GPUs that the cluster lacks, and stops there when cancelled", async () => {
    const { cluster, scratch, createEngine } = at();
    const abort = new AbortController();
    const notes: string[] = [];
    const reason = new Error("enough");
    const { error, id } = await train(createEngine({ workers: 13, gpusPerWorker: 1 }), scratch, {
      more: { batchSize: 13 },
      signal: abort.signal,
      onNote(text) {
        notes.push(text);
        if (text.startsWith("cluster: waiting for 13 CPUs and 13 GPUs; the cluster has "))
          abort.abort(reason);
      },
    });
    expect(notes[0]).toContain(" room for 0 of 13 workers (1 CPU and 1 GPU each)");
    expect(error).toBe(reason);
    const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
    const job = await fetch(`${cluster.address}/api/jobs/${id}`, { headers });
    const told = await job.text();
    expect(JSON.parse(told)).toMatchObject({ status: "STOPPED" });
    expect(told).not.toContain(TOKEN);
  });
}
