import { describe, expect, test } from "vitest";
import { HAS_WEBGPU, testDevice } from "./device.ts";
import { CASES } from "./kernels/cases.ts";
import { faultsIn } from "./kernels/operation.ts";
import { shuffled, unchanged } from "./kernels/shuffled.ts";

describe.runIf(HAS_WEBGPU)("kernels on WebGPU", () => {
  test.each(CASES)("$name: as plain loops, in any order of threads", async (one) => {
    const device = await testDevice();
    const found = await one.found(device, unchanged);
    expect(faultsIn(found, await one.wanted())).toEqual([]);
    // None uses atomics, so that all give the same bits.
    expect(await one.found(device, shuffled)).toEqual(found);
  });
});
