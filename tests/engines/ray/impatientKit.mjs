/** Loads an artifact on its cluster, by a job that soon gives Kit up; prints once it is loaded. */
import { findFolders } from "../../../dist/engines/python/model.js";
import { createCluster } from "../../../dist/engines/ray/cluster.js";
import { createRayJobs } from "../../../dist/engines/ray/rayJobs.js";
import { loadRemoteModel } from "../../../dist/engines/ray/remoteModel.js";
import { readStoredRecord } from "../../../dist/engines/ray/storedRecord.js";

const [artifact] = process.argv.slice(2);
const stored = readStoredRecord(artifact);
const cluster = createCluster({ address: stored.address });
const { base } = await findFolders(artifact);
await loadRemoteModel(createRayJobs(cluster), { cluster, stored, base, idleSeconds: 10 });
console.log("loaded");
