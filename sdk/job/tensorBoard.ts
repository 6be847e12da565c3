import { dirname, join } from "node:path";
import { readCurve, readInherited } from "../../jobs/metricEvents.ts";
import { type Report, openReport } from "../../jobs/tensorboard/report.ts";
import { messageOf } from "../../protocol/error.ts";
import { type JobEvent, EVALUATED, isFinalEvent } from "../../protocol/event.ts";
import type { JobHandle, Observer } from "./observer.ts";

/** Writes a job's log as TensorBoard's files, beside it. An error ends the files, not the job. */
export function createTensorBoard(onNote: (text: string) => void): Observer {
  let job: JobHandle | undefined;
  let report: Report | undefined;

  function attempt(write: () => void): void {
    try {
      write();
    } catch (error) {
      stop();
      onNote(`warning: no more files for TensorBoard: ${messageOf(error)}`);
    }
  }

  function stop(): void {
    report?.close();
    report = undefined;
  }

  function add(event: JobEvent): void {
    const { id, root } = idOf(job!);
    if (event.event === "training.started") {
      for (const past of readInherited(root, id)) report?.add(past);
    }
    if (event.event === "training.log" || event.event === EVALUATED) {
      report?.add({ ...event, at: Date.now() });
    }
    if (isFinalEvent(event)) stop();
  }

  return {
    onCreated(created) {
      job = created;
      const { directory, config } = created;
      attempt(() => (report = openReport(join(directory, "tensorboard"), { ...config })));
    },
    onAttached() {
      const { id, root } = idOf(job!);
      attempt(() => {
        for (const past of readCurve(root, id)) report?.add(past);
      });
    },
    onEvent: (event) => attempt(() => add(event)),
  };
}

function idOf({ job, directory }: JobHandle): { id: string; root: string } {
  return { id: job.id, root: dirname(directory) };
}
