import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type LocatedModel, resolveModel } from "../../../engines/families/modelSource.ts";
import { train } from "../../../engines/training/train.ts";
import { createArrays, wholeSlice } from "../../../engines/webgpu/device/array.ts";
import { openDevice } from "../../../engines/webgpu/device/dawn.ts";
import { createDevice } from "../../../engines/webgpu/device/device.ts";
import { kernel } from "../../../engines/webgpu/device/kernel.ts";
import type { GpuDevice } from "../../../engines/webgpu/device/webgpu.ts";
import { webgpuBackend } from "../../../engines/webgpu/train/backend.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { difference } from "../embedded/kernels/team.ts";
import { losses, run, tinyConfig } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { createWebgpuEngine } from "./built.ts";
import {
  HAS_WEBGPU,
  PROJECT,
  newDevice,
  smallDevice,
  testDevice,
  useSwiftShader,
} from "./device.ts";

test("without its package, it says how to install it", async () => {
  await expect(openDevice({}, scratchDirectory())).rejects.toThrow(
    /^webgpu\(\) trains through webgpu, which cannot be loaded from .*\. Run: npm install webgpu$/,
  );
});

/** A device on which allocations report an error. */
function failingGpu(filter: string): GpuDevice {
  const scopes: string[] = [];
  return {
    limits: {},
    lost: new Promise(() => {}),
    createBuffer: () => ({ destroy() {} }),
    pushErrorScope: (pushed: string) => void scopes.push(pushed),
    popErrorScope: () =>
      Promise.resolve(scopes.pop() === filter ? { message: "no.\nmore" } : undefined),
  } as unknown as GpuDevice;
}

test.each([
  ["out-of-memory", "OUT_OF_MEMORY", /^The GPU ran out of memory\. Use a smaller batchSize/],
  ["internal", "WORKER_FAILED", /^The GPU's driver refused a command \(no\)\. Update the driver/],
])("an error of the kind %s is one sentence", async (filter, code, message) => {
  const device = createDevice(failingGpu(filter), "a GPU");
  const failed = device.allocate([createArrays().add("weights", 4)]);
  await expect(failed).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

/** The shape that a config trains. */
function untrained({ model }: TrainConfig): LocatedModel {
  const source = resolveModel(model);
  if (source.kind === "hub") throw new Error("a shape is trained here");
  return source;
}

describe.runIf(HAS_WEBGPU)("on SwiftShader", () => {
  test("a GPU that isn't there is named, with those that are", async () => {
    useSwiftShader();
    await expect(openDevice({ adapter: "Voodoo" }, PROJECT)).rejects.toThrow(
      /^webgpu\(\) found no GPU named "Voodoo" \(.*SwiftShader.*\)\. Install or update its/,
    );
  });

  test.each(["swift", "SWIFTSHADER", "swiftshader-device-subzero"])(
    "%s names it, as kit check prints it or in part",
    async (adapter) => {
      useSwiftShader();
      const { name, isSoftware } = await openDevice({ adapter }, PROJECT);
      expect(name).toMatch(/^swiftshader/i);
      expect(isSoftware).toBe(true);
    },
  );

  test("a refused shader, a ninth buffer and a lost device are one sentence each", async () => {
    const device = await newDevice();
    const all = createArrays();
    const arrays = Object.fromEntries(
      Array.from({ length: 9 }, (_, i) => [`y${i}`, wholeSlice(all.add("weights", 64))]),
    );
    await device.allocate(all.arrays);
    const read = () => device.read([arrays["y0"]!]);
    const call = (count: number, code: string) => {
      const used = Object.fromEntries(Object.entries(arrays).slice(0, count));
      const writes = Object.fromEntries(Object.keys(used).map((name) => [name, "f32"] as const));
      const made = kernel("broken", { params: { n: "u32" }, reads: {}, writes, code });
      device.run([{ kernel: made, params: { n: 0 }, arrays: used, grid: () => [1, 1, 1] }]);
    };
    call(1, "no");
    await expect(read()).rejects.toThrow(
      /^The GPU's driver refused a command \(Error while parsing WGSL: .*\)\. Update the driver/,
    );
    const fine = "@compute @workgroup_size(1) fn main() { y0[0] = f32(batch.x + p.n); }";
    call(8, fine);
    await read();
    call(9, fine);
    await expect(read()).rejects.toThrow(
      /^The GPU's driver refused a command \(.*storage buffers \(9\).*\(8\).*\)\. Update the driver/,
    );
    device.destroy();
    await expect(read()).rejects.toThrow(
      /^The GPU stopped working \(.*\)\. Run kit start --resume to continue/,
    );
  });

  test("a process that crashes is a failed training, and leaves whole checkpoints", async () => {
    useSwiftShader();
    const config = { ...tinyConfig({ maxSteps: 1_000_000 }), engine: { name: "webgpu" } };
    let isKilled = false;
    const trained = createWebgpuEngine({}, PROJECT).train({
      config,
      directory: scratchDirectory(),
      signal: new AbortController().signal,
      onEvent({ event }) {
        // Others may be on their way.
        if (event !== "checkpoint.saved" || isKilled) return;
        isKilled = true;
        const child = execFileSync("pgrep", ["-P", `${process.pid}`, "-f", "webgpu/train/trainW"]);
        process.kill(Number(child.toString().trim().split("\n")[0]), "SIGSEGV");
      },
    });
    await expect(trained).rejects.toThrow(
      /^The GPU's process exited unexpectedly \(SIGSEGV\)\. Update the GPU's driver/,
    );
  });

  test("a training that diverges between two logs fails as on the embedded engine, at the same step", async () => {
    const rising = { learningRate: 2e6, warmupSteps: 20, maxSteps: 60 };
    const config = tinyConfig({ ...rising, loggingSteps: 100, saveSteps: 100 });
    const failed = async (trained: Promise<unknown>) =>
      trained.then(
        () => "no error",
        (error: Error) => error.message,
      );
    const events: string[] = [];
    const found = await failed(
      train(config, scratchDirectory(), {
        source: untrained(config),
        planBackend: webgpuBackend(await testDevice()),
        onEvent: ({ event }) => void events.push(event),
      }),
    );
    expect(found).toMatch(/^Training diverged at step \d+: the (loss|gradient norm) is not finite/);
    expect(found).toBe(await failed(run(config)));
    expect(events).toEqual(["training.started", "training.log", "training.log"]);
  });

  test("what one engine saved goes on in the other as if it had never stopped, on a small GPU", async () => {
    const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };
    const config = tinyConfig({ maxSteps: 8, saveSteps: 4, loggingSteps: 1, lora: LORA });
    const source = untrained(config);
    // The embedding is in parts, and so are the logits and a batch.
    const planBackend = webgpuBackend(await smallDevice(2048));
    const onGpu = async (resumeFrom?: string) => {
      const [events, directory]: [EngineEvent[], string] = [[], scratchDirectory()];
      const onEvent = (event: EngineEvent) => void events.push(event);
      await train(config, directory, { source, planBackend, resumeFrom, onEvent });
      return { events, directory };
    };
    const [whole, gpu] = [await run(config), await onGpu()];
    expect(difference(losses(gpu) as number[], losses(whole) as number[])).toBeLessThan(5e-4);
    const step4 = (directory: string) => join(directory, "artifacts/step-4");
    const after = [
      await onGpu(step4(whole.directory)),
      await run(config, { resumeFrom: step4(gpu.directory) }),
    ];
    for (const one of after) {
      const rest = losses(whole).slice(-losses(one).length) as number[];
      expect(rest.length).toBeGreaterThan(2);
      expect(difference(losses(one) as number[], rest)).toBeLessThan(5e-4);
    }
  });
});
