// The part of WebGPU that Kit uses, by its specification. Typed here, because `webgpu` is an optional peer.

export interface Gpu {
  requestAdapter: (options?: {
    powerPreference?: "low-power" | "high-performance";
  }) => Promise<Adapter | undefined>;
}

export interface Adapter {
  readonly info: Record<"vendor" | "architecture" | "device" | "description", string> & {
    /** Whether it computes in software. */
    isFallbackAdapter: boolean;
  };
  readonly limits: Readonly<Record<string, number>>;
  readonly features: Iterable<string>;
  requestDevice: (options: { requiredLimits: Record<string, number> }) => Promise<GpuDevice>;
}

export interface GpuDevice {
  readonly limits: Readonly<Record<string, number>>;
  readonly lost: Promise<{ reason: string; message: string }>;
  readonly queue: Queue;
  createBuffer: (options: { size: number; usage: number }) => GpuBuffer;
  createShaderModule: (options: { code: string; label: string }) => object;
  createBindGroupLayout: (options: { entries: object[] }) => BindGroupLayout;
  createPipelineLayout: (options: { bindGroupLayouts: BindGroupLayout[] }) => object;
  createComputePipeline: (options: {
    label: string;
    layout: object;
    compute: { module: object };
  }) => Pipeline;
  createBindGroup: (options: { layout: BindGroupLayout; entries: object[] }) => BindGroup;
  createCommandEncoder: () => CommandEncoder;
  pushErrorScope: (filter: ErrorFilter) => void;
  popErrorScope: () => Promise<{ message: string } | undefined>;
  destroy: () => void;
}

export type ErrorFilter = "validation" | "out-of-memory" | "internal";

export interface Queue {
  submit: (commands: object[]) => void;
  writeBuffer: (to: GpuBuffer, at: number, data: ArrayBufferView) => void;
  onSubmittedWorkDone: () => Promise<void>;
}

export interface GpuBuffer {
  readonly size: number;
  mapAsync: (mode: number, offset: number, size: number) => Promise<void>;
  getMappedRange: (offset: number, size: number) => ArrayBuffer;
  unmap: () => void;
  destroy: () => void;
}

export interface CommandEncoder {
  beginComputePass: () => ComputePass;
  copyBufferToBuffer: (
    from: GpuBuffer,
    fromOffset: number,
    to: GpuBuffer,
    toOffset: number,
    size: number,
  ) => void;
  clearBuffer: (buffer: GpuBuffer) => void;
  finish: () => object;
}

export interface ComputePass {
  setPipeline: (pipeline: Pipeline) => void;
  setBindGroup: (index: number, group: BindGroup) => void;
  dispatchWorkgroups: (x: number, y: number, z: number) => void;
  end: () => void;
}

export type BindGroupLayout = object;
export type BindGroup = object;
export type Pipeline = object;

/** Flags of a buffer's usage. */
export const USAGE = { mapRead: 1, copyFrom: 4, copyTo: 8, uniform: 64, storage: 128 } as const;

export const MAP_READ = 1;
/** A bind group's entry for compute shaders. */
export const COMPUTE_STAGE = 4;
