import { type DeviceArray, type Slice, WORD_BYTES, bufferOf } from "./array.ts";
import { type BatchCounts, type Dispatch, BATCH_COUNTS } from "./dispatch.ts";
import { assertNoErrors, lostError, watchErrors } from "./errors.ts";
import { createPipelines } from "./pipelines.ts";
import { type CommandEncoder, type GpuBuffer, type GpuDevice, MAP_READ, USAGE } from "./webgpu.ts";

/** A GPU, which runs kernels on planned arrays. */
export interface Device {
  /** The adapter's name. */
  name: string;
  /** Whether its memory is the machine's. */
  sharesMemory: boolean;
  /** Whether the processor computes in its place. */
  isSoftware: boolean;
  /** Words of the largest buffer. */
  maxWords: number;
  /** Creates the buffers of planned arrays that have none, zeroed; all or none. @throws KitError `OUT_OF_MEMORY` */
  allocate: (arrays: readonly DeviceArray[]) => Promise<void>;
  /** Writes before all commands of the next `submit`. @param at the first word */
  write: (array: DeviceArray, at: number, data: ArrayBufferView) => void;
  /** Waits until all that was written has arrived. */
  written: () => Promise<void>;
  /** Sets the batch of the commands that follow. */
  setBatch: (batch: BatchCounts) => void;
  /** Records calls for the next `submit`. @param usesAdapter whether to make the adapter's calls */
  run: (calls: readonly Dispatch[], usesAdapter?: boolean) => void;
  clear: (array: DeviceArray) => void;
  submit: () => void;
  /**
   * Records a copy of small arrays. More commands and copies may follow.
   * @returns reads it once, and submits it if nothing has yet
   * @throws KitError `OUT_OF_MEMORY`, `WORKER_FAILED`
   */
  copy: (slices: readonly Slice[]) => () => Promise<Float32Array[]>;
  /** Submits what is recorded, and reads arrays of any size. @throws as `copy` */
  read: (slices: readonly Slice[]) => Promise<Float32Array[]>;
  /** Frees all memory. */
  destroy: () => void;
}

/** Limits that Kit uses, each as high as the adapter has it. */
export const LIMITS = ["maxBufferSize", "maxStorageBufferBindingSize"];

/** Bytes read at a time, and of the smallest buffer for it, which all small reads share. */
const [STAGING_BYTES, MIN_STAGING_BYTES] = [2 ** 26, 2 ** 16];
const BATCH_BYTES = 16;

export function createDevice(
  gpu: GpuDevice,
  name: string,
  { sharesMemory = false, isSoftware = false } = {},
): Device {
  const errors = watchErrors(gpu);
  const { queue } = gpu;
  const batchBuffer = gpu.createBuffer({ size: BATCH_BYTES, usage: USAGE.uniform | USAGE.copyTo });
  const pipelines = createPipelines(gpu, batchBuffer);
  let batch: BatchCounts = { tokens: 0, selected: 0, distinct: 0 };
  let encoder: CommandEncoder | undefined;
  /** Buffers to read from, which no read uses now. */
  const free: GpuBuffer[] = [];

  function recorded(): CommandEncoder {
    if (!encoder) errors.begin();
    encoder ??= gpu.createCommandEncoder();
    return encoder;
  }

  function run(calls: readonly Dispatch[], usesAdapter = true): void {
    const pass = recorded().beginComputePass();
    for (const call of calls) {
      const [x, y, z] = call.grid(batch);
      if (x * y * z === 0 || (call.isAdapter && !usesAdapter)) continue;
      const { pipeline, group } = pipelines.prepare(call);
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
    }
    pass.end();
  }

  function submit(): void {
    if (!encoder) return;
    queue.submit([encoder.finish()]);
    encoder = undefined;
    errors.end();
  }

  function takeStaging(bytes: number): GpuBuffer {
    const found = free.findIndex(({ size }) => size >= bytes);
    if (found >= 0) return free.splice(found, 1)[0]!;
    for (const buffer of free.splice(0)) buffer.destroy();
    const size = Math.max(bytes, MIN_STAGING_BYTES);
    return gpu.createBuffer({ size, usage: USAGE.mapRead | USAGE.copyTo });
  }

  function copy(slices: readonly Slice[]): () => Promise<Float32Array[]> {
    const bytes = slices.reduce((sum, { words }) => sum + words * WORD_BYTES, 0);
    const commands = recorded();
    const to = takeStaging(bytes);
    let at = 0;
    for (const { array, from, words } of slices) {
      commands.copyBufferToBuffer(bufferOf(array), from * WORD_BYTES, to, at, words * WORD_BYTES);
      at += words * WORD_BYTES;
    }
    return async () => {
      if (encoder === commands) submit();
      const words = await readStaging(to, bytes);
      let next = 0;
      return slices.map((slice) => {
        next += slice.words;
        return words.subarray(next - slice.words, next);
      });
    };
  }

  async function readStaging(from: GpuBuffer, bytes: number): Promise<Float32Array> {
    try {
      await from.mapAsync(MAP_READ, 0, bytes);
    } catch (cause) {
      await errors.assertNone();
      throw lostError("it stopped answering", cause);
    }
    const words = new Float32Array(from.getMappedRange(0, bytes).slice(0));
    from.unmap();
    free.push(from);
    await errors.assertNone();
    return words;
  }

  return {
    name,
    sharesMemory,
    isSoftware,
    maxWords: Math.floor(Math.min(...LIMITS.map((limit) => gpu.limits[limit] ?? 0)) / WORD_BYTES),
    async allocate(arrays) {
      const usage = USAGE.storage | USAGE.copyTo | USAGE.copyFrom;
      const missing = arrays.filter(({ buffer }) => !buffer);
      try {
        await assertNoErrors(gpu, () => {
          for (const array of missing)
            array.buffer = gpu.createBuffer({ size: array.words * WORD_BYTES, usage });
        });
      } catch (error) {
        for (const array of missing) {
          array.buffer?.destroy();
          array.buffer = undefined;
        }
        throw error;
      }
    },
    write: (array, at, data) => queue.writeBuffer(bufferOf(array), at * WORD_BYTES, data),
    async written() {
      queue.submit([]);
      await queue.onSubmittedWorkDone();
      await errors.assertNone();
    },
    setBatch(next) {
      batch = next;
      queue.writeBuffer(
        batchBuffer,
        0,
        Uint32Array.from(BATCH_COUNTS, (count) => next[count]),
      );
    },
    run,
    clear: (array) => recorded().clearBuffer(bufferOf(array)),
    submit,
    copy,
    async read(slices) {
      const total = slices.reduce((sum, { words }) => sum + words * WORD_BYTES, 0);
      if (total <= STAGING_BYTES) return copy(slices)();
      const all: Float32Array[] = [];
      for (const slice of slices) all.push(await readLarge(slice));
      return all;
    },
    destroy: () => gpu.destroy(),
  };

  async function readLarge({ array, from, words }: Slice): Promise<Float32Array> {
    const all = new Float32Array(words);
    for (let at = 0; at < words; at += STAGING_BYTES / WORD_BYTES) {
      const count = Math.min(STAGING_BYTES / WORD_BYTES, words - at);
      const [some] = await copy([{ array, from: from + at, words: count }])();
      all.set(some!, at);
    }
    return all;
  }
}
