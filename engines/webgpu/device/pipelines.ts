import { WORD_BYTES, bufferOf } from "./array.ts";
import type { Dispatch } from "./dispatch.ts";
import { type Kernel, UNIFORMS } from "./kernel.ts";
import {
  type BindGroup,
  type BindGroupLayout,
  type GpuBuffer,
  type GpuDevice,
  type Pipeline,
  COMPUTE_STAGE,
  USAGE,
} from "./webgpu.ts";

/** Bytes of a call's parameters: WebGPU's alignment of uniforms. */
const SLOT_BYTES = 256;
const SLOTS = 256;

/** Compiles each kernel once, and binds each call's parameters and arrays once. */
export function createPipelines(gpu: GpuDevice, batch: GpuBuffer) {
  const pipelines = new Map<string, { pipeline: Pipeline; layout: BindGroupLayout }>();
  const prepared = new WeakMap<Dispatch, { pipeline: Pipeline; group: BindGroup }>();
  let uniforms: GpuBuffer | undefined;
  let slot = 0;

  function compile({ name, arrays, code }: Kernel) {
    const found = pipelines.get(code);
    if (found) return found;
    const types = [
      ...Array<string>(UNIFORMS).fill("uniform"),
      ...arrays.map(({ isWritten }) => (isWritten ? "storage" : "read-only-storage")),
    ];
    const layout = gpu.createBindGroupLayout({
      entries: types.map((type, binding) => ({
        binding,
        visibility: COMPUTE_STAGE,
        buffer: { type },
      })),
    });
    const pipeline = gpu.createComputePipeline({
      label: name,
      layout: gpu.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: gpu.createShaderModule({ label: name, code }) },
    });
    const made = { pipeline, layout };
    pipelines.set(code, made);
    return made;
  }

  /** Writes a call's parameters into a slot of their own. */
  function bindParams({ kernel, params }: Dispatch) {
    if (!uniforms || slot === SLOTS) {
      const usage = USAGE.uniform | USAGE.copyTo;
      uniforms = gpu.createBuffer({ size: SLOT_BYTES * SLOTS, usage });
      slot = 0;
    }
    const offset = slot++ * SLOT_BYTES;
    const words = new DataView(new ArrayBuffer(SLOT_BYTES));
    Object.entries(kernel.params).forEach(([name, type], i) => {
      const value = params[name] ?? NaN;
      if (type === "f32") return words.setFloat32(i * WORD_BYTES, value, true);
      if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** 32)
        throw new Error(`${kernel.name}: ${name} is ${value}`);
      words.setUint32(i * WORD_BYTES, value, true);
    });
    gpu.queue.writeBuffer(uniforms, offset, new Uint8Array(words.buffer));
    return { buffer: uniforms, offset, size: SLOT_BYTES };
  }

  function prepare(call: Dispatch) {
    const found = prepared.get(call);
    if (found) return found;
    const { pipeline, layout } = compile(call.kernel);
    const resources = [
      bindParams(call),
      { buffer: batch },
      ...call.kernel.arrays.map(({ name }) => {
        const slice = call.arrays[name];
        if (!slice) throw new Error(`${call.kernel.name}: no array ${name}`);
        const { array, from, words } = slice;
        return { buffer: bufferOf(array), offset: from * WORD_BYTES, size: words * WORD_BYTES };
      }),
    ];
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const made = { pipeline, group: gpu.createBindGroup({ layout, entries }) };
    prepared.set(call, made);
    return made;
  }

  return { prepare };
}
