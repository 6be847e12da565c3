import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { openDevice } from "../../../engines/webgpu/device/dawn.ts";
import type { Device } from "../../../engines/webgpu/device/device.ts";
import { SWIFTSHADER, hasVulkan } from "../../../scripts/swiftshader.mjs";

/** A folder with `webgpu`, wherever a test goes. */
export const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));

/** Whether WebGPU can be tested here. */
export const HAS_WEBGPU = hasVulkan() && hasPackage();

function hasPackage(): boolean {
  try {
    createRequire(import.meta.url).resolve("webgpu");
    return true;
  } catch {
    return false;
  }
}

/** Lets this process and its children find SwiftShader alone. */
export function useSwiftShader(): void {
  Object.assign(process.env, SWIFTSHADER);
}

let opened: Promise<Device> | undefined;

/** The device that all tests of a process share, with its compiled kernels. */
export function testDevice(): Promise<Device> {
  return (opened ??= newDevice());
}

/** Bytes of a buffer that every GPU can bind. With them, SwiftShader is as small as WebGPU allows: eight in a kernel. */
const MIN_BYTES = 2 ** 27;

export function newDevice(): Promise<Device> {
  useSwiftShader();
  return openDevice({}, PROJECT, MIN_BYTES);
}

/** The shared device, as if its largest buffer had so many words. */
export async function smallDevice(maxWords: number): Promise<Device> {
  const device = await testDevice();
  return {
    ...device,
    maxWords,
    async allocate(arrays) {
      const large = arrays.find(({ words }) => words > maxWords);
      if (large)
        throw new Error(`${large.words} words of ${large.purpose} are more than ${maxWords}`);
      await device.allocate(arrays);
    },
  };
}
