import { KitError, messageOf } from "../../../protocol/error.ts";
import type { ErrorFilter, GpuDevice } from "./webgpu.ts";

const FILTERS: readonly ErrorFilter[] = ["validation", "out-of-memory", "internal"];

/** Collects a device's errors, which WebGPU reports later. */
export function watchErrors(gpu: GpuDevice) {
  let lost: { reason: string; message: string } | undefined;
  void gpu.lost.then((info) => (lost = info));
  let found: Promise<KitError | undefined>[] = [];

  return {
    /** Watches all calls until `end`. */
    begin: () => FILTERS.forEach((filter) => gpu.pushErrorScope(filter)),
    end: () => void found.push(popErrors(gpu)),
    /** @throws KitError for the first error of those that ended */
    async assertNone(): Promise<void> {
      const ended = found;
      found = [];
      const [first] = (await Promise.all(ended)).filter((error) => error !== undefined);
      // The device reports its loss after the calls that fail by it.
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (lost) throw lostError(lost.message);
      if (first) throw first;
    },
  };
}

/** @throws KitError `OUT_OF_MEMORY`, `WORKER_FAILED` for an error of the calls in `work` */
export async function assertNoErrors(gpu: GpuDevice, work: () => void): Promise<void> {
  FILTERS.forEach((filter) => gpu.pushErrorScope(filter));
  work();
  const error = await popErrors(gpu);
  if (error) throw error;
}

async function popErrors(gpu: GpuDevice): Promise<KitError | undefined> {
  const errors = await Promise.all(
    FILTERS.toReversed().map(async (filter) => {
      try {
        const error = await gpu.popErrorScope();
        return error ? errorOf(filter, error.message) : undefined;
      } catch (cause) {
        return lostError(messageOf(cause), cause);
      }
    }),
  );
  return errors.find((error) => error !== undefined);
}

function errorOf(filter: ErrorFilter, message: string): KitError {
  if (filter === "out-of-memory") {
    return new KitError(
      "OUT_OF_MEMORY",
      "The GPU ran out of memory. Use a smaller batchSize, maxLength or model, or end other programs that use it.",
      { cause: message },
    );
  }
  return new KitError(
    "WORKER_FAILED",
    `The GPU's driver refused a command (${firstLine(message)}). Update the driver, or remove engine: webgpu().`,
    { cause: message },
  );
}

export function lostError(message: string, cause?: unknown): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The GPU stopped working (${firstLine(message)}). Run kit start --resume to continue from the last checkpoint.`,
    { cause },
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]!.trim().replace(/\.$/, "");
}
