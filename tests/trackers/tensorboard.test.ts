import { join } from "node:path";
import { expect, test } from "vitest";
import { readCurves } from "../jobs/tensorboard/eventFiles.ts";
import { createTinyTrainer, enterProject } from "../sdk/project.ts";
import { hasTrackers, runPython } from "./environment.ts";

/** It checks every record's checksums. */
const READ = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0}).Reload()
tags = events.Tags()
print(json.dumps({
  "curves": {tag: [[one.step, one.value] for one in events.Scalars(tag)] for tag in tags["scalars"]},
  "texts": {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags["tensors"]},
}))`;

test.runIf(hasTrackers)(
  "TensorBoard reads what a job and its continuation have logged",
  async () => {
    const project = enterProject();
    const reported = {
      reportTo: "tensorboard",
      ...{ maxSteps: 4, saveSteps: 2, evalSplit: 0.25 },
      evaluate: { metrics: { length: ({ output }: { output: string }) => output.length } },
    } as const;
    const failing = createTinyTrainer({
      ...reported,
      callbacks: {
        onCheckpoint() {
          throw new Error("stop here");
        },
      },
    });
    const { jobId: failed } = await failing.start();
    await expect(failing.wait()).rejects.toThrow("stop here");
    const resuming = createTinyTrainer({ ...reported, resume: true });
    const { jobId: resumed } = await resuming.start();
    await resuming.wait();
    for (const id of [failed, resumed]) {
      const directory = join(project, ".kit/jobs", id, "tensorboard");
      const read = JSON.parse(await runPython(READ, directory)) as ReturnType<typeof readCurves>;
      expect(read).toEqual(readCurves(directory));
      expect(read.curves["train/loss"]?.length).toBeGreaterThan(0);
    }
  },
);
