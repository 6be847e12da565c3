/** Fetches an artifact from its cluster, and is killed with the first byte; `<artifact> <idle seconds>`. */
import { createCluster } from "../../../dist/engines/ray/cluster.js";
import { downloadArtifact } from "../../../dist/engines/ray/downloadArtifact.js";
import { createRayJobs } from "../../../dist/engines/ray/rayJobs.js";
import { readStoredRecord } from "../../../dist/engines/ray/storedRecord.js";

const [artifact, idleSeconds] = process.argv.slice(2);
const stored = readStoredRecord(artifact);
await downloadArtifact(stored, artifact, {
  remote: createRayJobs(createCluster({ address: stored.address })),
  signal: new AbortController().signal,
  idleSeconds: Number(idleSeconds),
  onBytes: () => process.kill(process.pid, "SIGKILL"),
});
