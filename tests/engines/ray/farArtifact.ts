import { createHash } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Remote } from "../../../engines/ray/rayJobs.ts";
import { type StoredRecord, writeStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** Larger than a chunk. */
export const WEIGHTS = "w".repeat(100_000);
export const FILES: Record<string, string> = {
  "config.json": "{}",
  "model.safetensors": WEIGHTS,
  "optimizer.pt": "state",
};
const CHUNK = 10_000;

/** The path of an artifact that only its record names. */
export function recordedArtifact(more: Partial<StoredRecord> = {}): string {
  const artifact = join(scratchDirectory(), "artifacts/step-4");
  const files = Object.entries(FILES).map(([name, content]) => {
    const sha256 = createHash("sha256").update(content).digest("hex");
    return [name, { size: content.length, sha256 }] as const;
  });
  const path = "s3://bucket/runs/1/step-4";
  writeStoredRecord(artifact, { address: "far", path, files: Object.fromEntries(files), ...more });
  return artifact;
}

interface Faults {
  /** What the job that lays files out says instead of where they lie. */
  says?: object;
  /** Of the storage, in place of what was recorded. */
  files?: Record<string, string>;
  /** Is called before each chunk; what it throws breaks the connection. */
  onChunk?: (name: string, at: number) => Promise<void> | void;
}

/** A cluster with the artifact's files, and what was asked of it. */
export function createFarRemote({ says, files = FILES, onChunk }: Faults = {}) {
  const asked = {
    ...{ commands: [] as string[], read: [] as string[], stopped: [] as string[] },
    /** To whom messages were sent. */
    sent: [] as string[],
  };
  const ready = says ?? { type: "ready", node: "n", folder: "kit/laid" };
  let secret = "";
  const remote: Partial<Remote> = {
    name: "a cluster",
    address: "far",
    submit({ command, secret: given }) {
      secret = given;
      return Promise.resolve(void asked.commands.push(command));
    },
    status: () => Promise.resolve({ phase: "running" }),
    log() {
      const line = JSON.stringify({ kit: 1, secret, seq: 1, ...ready });
      return Readable.from([Buffer.from(`${line}\n`)]);
    },
    send: (id) => Promise.resolve(void asked.sent.push(id)),
    stop: (id) => Promise.resolve(void asked.stopped.push(id)),
    async *read({ path }) {
      const name = path.replace("kit/laid/", "");
      asked.read.push(name);
      const content = Buffer.from(files[name] ?? "");
      for (let at = 0; at < content.length; at += CHUNK) {
        await onChunk?.(name, at);
        yield content.subarray(at, at + CHUNK);
      }
    },
  };
  return { remote: remote as Remote, asked };
}
