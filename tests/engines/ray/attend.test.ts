import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { attend } from "../../../engines/ray/attend.ts";
import type { Remote } from "../../../engines/ray/remote.ts";
import { readStored } from "../../../engines/ray/stored.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { createFarRemote, recordedArtifact } from "./farArtifact.ts";

const JOB = "1";

it("brings adapters home before their event; of whole models it keeps a record of where they are", async () => {
  const { remote, asked } = createFarRemote();
  const { directory, seen, stored } = await attendTo(remote, ["adapter", "model"]);
  const first = ["step-1", "step-1.stored.json"];
  expect(seen).toEqual([first, [...first, "step-2.stored.json"]]);
  expect(existsSync(join(directory, "artifacts/step-1/optimizer.pt"))).toBe(true);
  expect(asked.commands).toHaveLength(1);
  for (const name of ["step-1", "step-2"]) {
    expect(readStored(join(directory, "artifacts", name))).toEqual({ address: "far", ...stored });
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
  const started = { type: "started", data: {}, kept: { context: 8 } };
  await expect(attendTo(remote, [], { first: [started] })).rejects.toMatchObject({
    code: "CANNOT_FOLLOW",
  });
  expect(asked.stopped).toEqual([]);
});

it("writes nothing beside the job for a checkpoint whose path leads there", async () => {
  const { remote } = createFarRemote();
  const { address: _, ...stored } = readStored(recordedArtifact())!;
  const data = { step: 1, kind: "model", path: "artifacts/../../evil" };
  const evil = { type: "event", stored, event: { event: "checkpoint.saved", data } };
  const { directory } = await attendTo(remote, ["model"], { first: [evil] });
  expect(readdirSync(join(directory, ".."))).not.toContain("evil.stored.json");
});

interface Attended {
  directory?: string;
  /** Messages before it saves. */
  first?: object[];
}

/** Attends to a job that saves an artifact of these kinds, a step each. */
async function attendTo(
  remote: Remote,
  kinds: string[],
  { directory = scratchDirectory(), first = [] }: Attended = {},
) {
  const { address: _, ...stored } = readStored(recordedArtifact())!;
  const saved = kinds.map((kind, i) => {
    const data = { step: i + 1, kind, path: `artifacts/step-${i + 1}` };
    return { type: "event", stored, event: { event: "checkpoint.saved", data } };
  });
  const job = [...first, ...saved, { type: "done" }]
    .map((message, i) => `${JSON.stringify({ kit: 1, seq: i + 1, ...message })}\n`)
    .join("");
  const seen: string[][] = [];
  const notes: string[] = [];
  const listened: Remote = {
    ...remote,
    log: (id, ...more) =>
      id === JOB ? Readable.from([Buffer.from(job)]) : remote.log(id, ...more),
  };
  await attend(listened, {
    id: JOB,
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
