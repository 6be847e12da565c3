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

export function newDevice(): Promise<Device> {
  useSwiftShader();
  return openDevice({}, PROJECT);
}
