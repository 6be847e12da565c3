import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { downloadArtifact, fetchArtifact } from "../../../engines/ray/downloadArtifact.ts";
import type { Remote } from "../../../engines/ray/rayJobs.ts";
import { readStoredRecord } from "../../../engines/ray/storedRecord.ts";
import type { FetchOptions } from "../../../protocol/engine.ts";
import { KitError } from "../../../protocol/error.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { FILES, WEIGHTS, createFarRemote, recordedArtifact } from "./farArtifact.ts";

const SKIPPED = ["optimizer.pt"];
const WEIGHTS_FILE = "model.safetensors";
const CUT = new KitError("CLUSTER_UNREACHABLE", "The connection was cut.");

const bring = (remote: Remote, directory: string, more: Partial<FetchOptions> = {}) =>
  fetchArtifact(() => remote, SKIPPED, { directory, ...more });

/** What lies beside an artifact, but for its record. */
function besides(artifact: string): string[] {
  return readdirSync(dirname(artifact)).filter((name) => name !== "step-4.stored.json");
}

it("brings the files but those that only a resume needs, and says how far it is", async () => {
  const { remote, asked } = createFarRemote();
  const artifact = recordedArtifact();
  const seen: number[] = [];
  await bring(remote, artifact, {
    onProgress({ bytes, totalBytes }) {
      seen.push(bytes);
      expect(totalBytes).toBe(WEIGHTS.length + 2);
    },
  });
  expect(readdirSync(artifact).toSorted()).toEqual(["config.json", WEIGHTS_FILE]);
  expect(readFileSync(join(artifact, WEIGHTS_FILE), "utf8")).toBe(WEIGHTS);
  expect(besides(artifact)).toEqual(["step-4"]);
  expect(seen.length).toBeGreaterThan(3);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.at(-1)).toBe(WEIGHTS.length + 2);
  expect(asked.commands).toEqual([
    expect.stringMatching(
      /kit_ray\.fetch '\S+' '\w+' '300' 's3:\/\/bucket\/runs\/1\/step-4' 'config\.json' 'model\.safetensors'$/,
    ),
  ]);
  expect(asked.stopped).toHaveLength(1);
  await bring(remote, artifact);
  expect(asked.commands).toHaveLength(1);
});

it("has one place there for each attempt, and tells the job that it is there until it has all", async () => {
  const artifact = recordedArtifact();
  const { remote, asked } = createFarRemote({
    async onChunk() {
      const heard = asked.sent.length;
      await vi.waitFor(() => expect(asked.sent.length).toBeGreaterThan(heard));
      throw CUT;
    },
  });
  const stored = readStoredRecord(artifact)!;
  const way = { remote, signal: new AbortController().signal, idleSeconds: 0.05 };
  for (let attempt = 1; attempt <= 2; attempt++) {
    await expect(downloadArtifact(stored, artifact, way)).rejects.toBe(CUT);
  }
  const words = asked.commands.map((command) =>
    /'(kit-fetch-.*?)' '(\w{16})' '0\.05' /.exec(command),
  );
  expect(new Set(words.map((found) => found?.[1])).size).toBe(2);
  expect(new Set(words.map((found) => found?.[2])).size).toBe(1);
  expect(new Set(asked.sent)).toEqual(new Set(asked.stopped));
  const beats = asked.sent.length;
  await delay(50);
  expect(asked.sent).toHaveLength(beats);
});

it("notes how large it is when nobody takes the progress", async () => {
  const notes: string[] = [];
  const { remote } = createFarRemote();
  await bring(remote, recordedArtifact(), { onNote: (text) => notes.push(text) });
  expect(notes).toEqual(["downloading step-4 from a cluster, 0.1 MB"]);
});

it("transfers once when two ask at once", async () => {
  const { remote, asked } = createFarRemote();
  const artifact = recordedArtifact();
  const notes: string[] = [];
  await Promise.all([
    bring(remote, artifact),
    bring(remote, artifact, { onNote: (text) => notes.push(text) }),
  ]);
  expect(asked.read).toEqual(["config.json", WEIGHTS_FILE]);
  expect(notes).toContain(`waiting for another download of ${artifact}`);
});

it("leaves nothing half-written when it is aborted, and goes on with the files that are whole", async () => {
  const abort = new AbortController();
  const first = createFarRemote({
    async onChunk(name, at) {
      if (name !== WEIGHTS_FILE || at === 0) return;
      abort.abort(new Error("enough"));
      await delay(0);
    },
  });
  const artifact = recordedArtifact();
  await expect(bring(first.remote, artifact, { signal: abort.signal })).rejects.toThrow("enough");
  expect(first.asked.stopped).toHaveLength(1);
  expect(besides(artifact)).toEqual([".step-4.fetch"]);
  expect(readdirSync(join(dirname(artifact), ".step-4.fetch"))).toEqual(["config.json"]);
  const second = createFarRemote();
  await bring(second.remote, artifact);
  expect(second.asked.read).toEqual([WEIGHTS_FILE]);
  expect(besides(artifact)).toEqual(["step-4"]);
});

it("reads a file again whose connection is cut, and says so when it always is", async () => {
  let cuts = 2;
  const onChunk = (name: string, at: number) => {
    if (name === WEIGHTS_FILE && at > 0 && cuts-- > 0) throw CUT;
  };
  const artifact = recordedArtifact();
  const { remote, asked } = createFarRemote({ onChunk });
  await bring(remote, artifact);
  expect(asked.read).toEqual(["config.json", WEIGHTS_FILE, WEIGHTS_FILE, WEIGHTS_FILE]);
  const other = recordedArtifact();
  cuts = Infinity;
  await expect(bring(remote, other)).rejects.toBe(CUT);
  expect(besides(other)).toEqual([".step-4.fetch"]);
});

it("refuses what is not what was recorded", async () => {
  const files = { ...FILES, [WEIGHTS_FILE]: WEIGHTS.replace("w", "v") };
  const { remote } = createFarRemote({ files });
  const artifact = recordedArtifact();
  await expect(bring(remote, artifact)).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: `${WEIGHTS_FILE} arrived damaged from the cluster. Try again: the checkpoint in its storage is intact.`,
  });
  expect(besides(artifact)).toEqual([".step-4.fetch"]);
});

it("takes no more of a file than was recorded", async () => {
  let chunks = 0;
  const files = { ...FILES, [WEIGHTS_FILE]: WEIGHTS.repeat(10) };
  const onChunk = (name: string) => void (chunks += Number(name === WEIGHTS_FILE));
  const { remote } = createFarRemote({ files, onChunk });
  await expect(bring(remote, recordedArtifact())).rejects.toThrow("arrived damaged");
  expect(chunks).toBe(11);
});

it("asks for room before anything is sent, and names a folder that it can't write", async () => {
  const { remote, asked } = createFarRemote();
  const sha256 = "0".repeat(64);
  const large = recordedArtifact({ files: { [WEIGHTS_FILE]: { size: 2 ** 52, sha256 } } });
  await expect(bring(remote, large)).rejects.toMatchObject({
    code: "CHECKPOINT_UNWRITABLE",
    message: expect.stringMatching(
      /step-4 needs 4,503,599,627 MB, but its disk has \S+ MB free\. Free disk space\.$/,
    ) as string,
  });
  expect(asked.commands).toEqual([]);
  const artifact = recordedArtifact();
  // In place of the folder that it would write.
  writeFileSync(join(dirname(artifact), ".step-4.fetch"), "");
  await expect(bring(remote, artifact)).rejects.toMatchObject({
    code: "CHECKPOINT_UNWRITABLE",
    message: expect.stringMatching(/^Cannot save .*step-4: .* Make the folder writable/) as string,
  });
});

it("passes on what the cluster says of a storage that is gone", async () => {
  const message = "model.safetensors is no longer there.";
  const says = { type: "failed", code: "CHECKPOINT_INVALID", message };
  const { remote, asked } = createFarRemote({ says });
  const artifact = recordedArtifact();
  await expect(bring(remote, artifact)).rejects.toMatchObject({
    ...{ code: "CHECKPOINT_INVALID", message },
  });
  expect(asked.stopped).toHaveLength(1);
  expect(besides(artifact)).toEqual([".step-4.fetch"]);
});

it("takes the files from a storage that this machine sees", async () => {
  const { remote, asked } = createFarRemote();
  const path = scratchDirectory();
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(path, name), content);
  const artifact = recordedArtifact({ path });
  await bring(remote, artifact);
  expect(readFileSync(join(artifact, WEIGHTS_FILE), "utf8")).toBe(WEIGHTS);
  expect(asked.commands).toEqual([]);
});
