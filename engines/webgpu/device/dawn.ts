import { importPackage } from "../../../disk/importPackage.ts";
import type { WebgpuOptions } from "../../../protocol/engineOptions.ts";
import { KitError, messageOf } from "../../../protocol/error.ts";
import { type Device, createDevice } from "./device.ts";
import type { Adapter, Gpu } from "./webgpu.ts";

const NAME = "webgpu";

/** Dawn, as `webgpu` of npm has it. */
interface Dawn {
  create: (options: string[]) => Gpu;
}

/** Limits that Kit uses, each as high as the adapter has it. */
const LIMITS = ["maxBufferSize", "maxStorageBufferBindingSize"];

/** Kernels write a workgroup's memory before they read it; clearing it first takes time, above all SwiftShader's. */
const FEATURES = "enable-dawn-features=disable_workgroup_init";

/** Keeps Dawn's objects: it crashes if an unused one is collected. */
const kept: object[] = [];

/**
 * Opens a GPU through the project's `webgpu`.
 * @param maxBytes of a buffer, fewer than the adapter has. Default: the adapter's
 * @throws KitError `CONFIG_INVALID` without the package, `MACHINE_UNFIT` without a suitable adapter
 */
export async function openDevice(
  { adapter: wanted, powerPreference = "high-performance" }: WebgpuOptions,
  project: string,
  maxBytes = Infinity,
): Promise<Device> {
  const { create } = await importDawn(project);
  pollLessOften();
  const adapter = await findAdapter(create, wanted, powerPreference);
  const requiredLimits = Object.fromEntries(
    LIMITS.map((limit) => [limit, Math.min(adapter.limits[limit] ?? 0, maxBytes)]),
  );
  const name = nameOf(adapter);
  try {
    const device = await adapter.requestDevice({ requiredLimits });
    kept.push(device);
    return createDevice(device, name);
  } catch (cause) {
    throw new KitError(
      "MACHINE_UNFIT",
      `The GPU ${name} cannot be used (${messageOf(cause)}). Update its driver, or remove engine: webgpu().`,
      { cause },
    );
  }
}

/** Dawn waits for the GPU by `setImmediate`, again and again, which would keep a core busy. */
function pollLessOften(): void {
  Object.assign(globalThis, {
    setImmediate: (poll: () => void, ...args: []) => setTimeout(poll, 1, ...args),
  });
}

async function importDawn(project: string): Promise<Dawn> {
  try {
    return (await importPackage(NAME, project)) as Dawn;
  } catch (cause) {
    throw new KitError(
      "CONFIG_INVALID",
      `webgpu() trains through ${NAME}, which cannot be loaded from ${project}. Run: npm install ${NAME}`,
      { cause },
    );
  }
}

async function findAdapter(
  create: Dawn["create"],
  wanted: string | undefined,
  powerPreference: WebgpuOptions["powerPreference"],
): Promise<Adapter> {
  let problem = "no driver of Metal, Direct3D 12 or Vulkan answers";
  try {
    const gpu = create([FEATURES, ...(wanted === undefined ? [] : [`adapter=${wanted}`])]);
    const adapter = await gpu.requestAdapter({ powerPreference });
    kept.push(gpu);
    if (adapter) kept.push(adapter);
    if (adapter) return adapter;
  } catch (error) {
    problem = messageOf(error).replaceAll(/\s+/g, " ").trim();
  }
  const which = wanted === undefined ? "no GPU" : `no GPU named "${wanted}"`;
  throw new KitError(
    "MACHINE_UNFIT",
    `webgpu() found ${which} (${problem}). Install its driver, or remove engine: webgpu().`,
  );
}

/** Such as `apple-m3 (Metal driver on macOS …)`. */
function nameOf({ info }: Adapter): string {
  const { description, device, architecture, vendor } = info;
  const name = (device || `${vendor} ${architecture}`).replace(/\W+$/, "");
  return description ? `${name} (${description})` : name;
}
