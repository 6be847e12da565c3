import { createDevice } from "../../../../engines/webgpu/device/device.ts";
import type { Gpu } from "../../../../engines/webgpu/device/webgpu.ts";
import { CASES } from "./cases.ts";
import { faultsIn } from "./operation.ts";
import { unchanged } from "./shuffled.ts";

/** Runs the kernels' cases on a browser's GPU. */
declare const navigator: { gpu: Gpu };

const adapter = await navigator.gpu.requestAdapter();
const device = createDevice(await adapter!.requestDevice({ requiredLimits: {} }), "a browser's");

/** What is wrong with a case. */
async function faultsOf(name: string): Promise<string[]> {
  const one = CASES.find((one) => one.name === name)!;
  return faultsIn(await one.found(device, unchanged), await one.wanted());
}

Object.assign(globalThis, { faultsOf });
