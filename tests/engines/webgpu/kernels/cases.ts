import type { Device } from "../../../../engines/webgpu/device/device.ts";
import { type Results, byLoops, onGpu } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import { OPTIMIZER } from "./optimizer.ts";
import type { Change } from "./shuffled.ts";
import { TRAINING } from "./training.ts";

/** Kernels on a GPU beside plain loops. Nothing here needs Node, because Chromium runs it, too. */
export interface Case {
  name: string;
  found: (device: Device, change: Change) => Promise<Results>;
  wanted: () => Results | Promise<Results>;
}

export const CASES: readonly Case[] = [
  ...OPERATIONS.map((one) => ({
    name: one.name,
    found: (device: Device, change: Change) => onGpu(device, one, change),
    wanted: () => byLoops(one),
  })),
  OPTIMIZER,
  TRAINING,
];
