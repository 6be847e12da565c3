import { importPackage } from "../../../disk/importPackage.ts";
import type { WebgpuOptions } from "../../../protocol/engineOptions.ts";
import { KitError, messageOf } from "../../../protocol/error.ts";
import { type Device, LIMITS, createDevice } from "./device.ts";
import type { Adapter, Gpu } from "./webgpu.ts";

const NAME = "webgpu";

/** Why there is no GPU, unless Dawn prints what it refused. */
export const NO_DRIVER = "no driver of Metal, Direct3D 12 or Vulkan answers";

/** What NVIDIA's driver needs on a server, where a desktop doesn't bring it, by Debian's names. */
const LIBRARIES = process.platform === "linux" ? " with libvulkan1, libegl1 and libxext6" : "";

/** Vendors whose GPUs have no memory of their own. */
const SHARING_VENDORS = ["apple", "arm", "qualcomm"];

/** Dawn, as `webgpu` of npm has it. */
interface Dawn {
  create: (options: string[]) => Gpu;
}

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
    const { isFallbackAdapter: isSoftware } = adapter.info;
    return createDevice(device, name, { sharesMemory: sharesMemory(adapter), isSoftware });
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
    const why = messageOf(cause).split("\n", 1)[0]!;
    if (!why.includes(`'${NAME}'`)) {
      throw new KitError(
        "MACHINE_UNFIT",
        `The package ${NAME} doesn't run here (${why}). It is made for macOS, Windows, and Linux with glibc; elsewhere, remove engine: webgpu().`,
        { cause },
      );
    }
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
  let problem = NO_DRIVER;
  const open = async (name: string | undefined) => {
    const gpu = create([FEATURES, ...(name === undefined ? [] : [`adapter=${name}`])]);
    const adapter = await gpu.requestAdapter({ powerPreference });
    kept.push(gpu);
    if (adapter) kept.push(adapter);
    return adapter;
  };
  try {
    const adapter = await open(wanted);
    if (adapter) return adapter;
  } catch (error) {
    problem = messageOf(error).replaceAll(/\s+/g, " ").trim();
    // Dawn minds case, and its names differ from those that `nameOf` prints.
    const name = wanted === undefined ? undefined : listedName(problem, wanted);
    if (name !== undefined && name !== wanted) return findAdapter(create, name, powerPreference);
  }
  const which = wanted === undefined ? "no GPU" : `no GPU named "${wanted}"`;
  throw new KitError(
    "MACHINE_UNFIT",
    `webgpu() found ${which} (${problem}). Install or update its driver${LIBRARIES}, or remove engine: webgpu().`,
  );
}

/** The first name in Dawn's list that contains the wanted one, letters and digits alone. */
function listedName(list: string, wanted: string): string | undefined {
  const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const names = [...list.matchAll(/name: '([^']+)'/g)].map(([, name]) => name!);
  return names.find((name) => letters(name).includes(letters(wanted)));
}

/** Whether its memory is certainly the machine's. */
function sharesMemory({ info }: Adapter): boolean {
  return info.isFallbackAdapter || SHARING_VENDORS.includes(info.vendor);
}

/** Such as `apple-m3 (Metal driver on macOS …)`. */
function nameOf({ info }: Adapter): string {
  const { description, device, architecture, vendor } = info;
  const name = (device || `${vendor} ${architecture}`).replace(/\W+$/, "");
  return description ? `${name} (${description})` : name;
}
