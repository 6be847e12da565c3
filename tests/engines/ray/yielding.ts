import { join } from "node:path";
import { expect, it } from "vitest";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { follow } from "../../../engines/ray/follow.ts";
import { createRayJobs } from "../../../engines/ray/rayJobs.ts";
import { writeStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { type Place, TOKEN } from "./environment.ts";
import { train } from "./training.ts";

const QUESTION = { prompt: "1", maxTokens: 8 };

/** Takes a GPU as a training's workers do, and says so. */
const RIVAL = `
import json, ray
from ray.util.placement_group import placement_group
ray.init(address="auto", log_to_driver=False)
has_one = placement_group([{"GPU": 1}]).wait(30)
print(json.dumps({"kit": 1, "seq": 1, "type": "done" if has_one else "cancelled"}), flush=True)
`;

/** What holds a GPU for answers, beside others that need it. */
export function describeYielding(at: () => Place): void {
  it("gives its GPU back to a job that waits for one, and answers on", async () => {
    const { cluster, scratch, createEngine } = at();
    await cluster.tell("add gpu");
    const { directory } = await train(createEmbeddedEngine(), scratch, { more: { maxSteps: 1 } });
    const artifact = join(scratch.directory(), "step-1");
    const path = join(directory, "artifacts/step-1");
    const files = { "config.json": { size: 1, sha256: "0".repeat(64) } };
    writeStoredRecord(artifact, { address: cluster.address, path, files });
    const notes: string[] = [];
    const onNote = (text: string) => notes.push(text);
    const model = await createEngine({ gpusPerWorker: 1 }).load(artifact, { onNote });
    const before = await model.infer(QUESTION);
    expect(notes).toEqual([expect.stringMatching(/ the files of step-1 exist only there$/)]);
    expect(await takeGpu(cluster.address)).toBe("done");
    expect(await model.infer(QUESTION)).toEqual(before);
    await model.close();
    expect(notes.slice(1)).toEqual([
      "cluster: another job waits for GPUs: inference continues on the cluster's CPUs",
    ]);
    await cluster.tell("lose");
  });
}

async function takeGpu(address: string): Promise<string | undefined> {
  const remote = createRayJobs(createCluster({ address, token: TOKEN }));
  const [id, bytes] = [`rival-${crypto.randomUUID()}`, Buffer.from(RIVAL)];
  await remote.submit({
    ...{ id, secret: "" },
    files: [{ path: "rival.py", bytes }],
    command: "python -u rival.py",
  });
  for await (const { type } of follow(
    remote,
    { id, secret: undefined },
    new AbortController().signal,
  )) {
    if (type === "done" || type === "cancelled") return type;
  }
  return undefined;
}
