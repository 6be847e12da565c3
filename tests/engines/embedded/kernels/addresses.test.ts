import { expect, test } from "vitest";
import type * as kernelTypes from "../../../../engines/embedded/kernels/kernels.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { builtModule } from "../built.ts";
import { numbers } from "./team.ts";

const { compileKernels, instantiate } = await builtModule<typeof modules>("kernels/module.js");
const { CONTROL_BYTES, SCRATCH_BYTES } =
  await builtModule<typeof kernelTypes>("kernels/kernels.js");

const GIB = 2 ** 30;
const MOST_PAGES = 65536;
const LINE = 64;
const SIZE = 40;

type Exported = Record<"SCRATCH_BYTES" | "CONTROL_BYTES", { value: number }>;

/** The results of each kind of kernel on the same numbers, in arrays from an address on. */
function results(memory: WebAssembly.Memory, from: number): Float32Array[] {
  let end = from;
  function place(bytes: number): number {
    const at = end;
    end += Math.ceil(bytes / LINE) * LINE;
    return at;
  }
  const kernels = instantiate(compileKernels(), memory);
  kernels.join(1, place(CONTROL_BYTES), place(SCRATCH_BYTES));
  const [x = 0, y = 0, product = 0, w = 0, inverse = 0, normed = 0, m = 0, v = 0] = Array.from(
    { length: 8 },
    (_, seed) => {
      const at = place(SIZE * SIZE * 4);
      new Float32Array(memory.buffer, at, SIZE * SIZE).set(
        numbers(SIZE * SIZE, seed).map(Math.abs),
      );
      return at;
    },
  );
  kernels.setA(x, SIZE, 1);
  kernels.setB(y, 1, SIZE, false);
  kernels.setC(product, SIZE, 0, 1);
  kernels.product(SIZE, SIZE, SIZE, 12, 8);
  kernels.barrier();
  kernels.norm(SIZE, SIZE, product, w, normed, inverse, 1e-5, 0);
  kernels.setAdamw(1, 0.01, 0, 0.9, 0.95, 0.1, 0.05, 1e-8);
  kernels.adamw(SIZE * SIZE, x, y, m, v);
  kernels.barrier();
  return [product, normed, x].map((at) => new Float32Array(memory.buffer, at, SIZE * SIZE).slice());
}

test("kernels work to the end of WebAssembly's 4 GiB, across the sign of a 32-bit number too", () => {
  const pages = { initial: MOST_PAGES, maximum: MOST_PAGES };
  const memory = new WebAssembly.Memory({ ...pages, shared: true });
  const expected = results(memory, GIB);
  expect(results(memory, 2 * GIB - 4096)).toEqual(expected);
  expect(results(memory, 4 * GIB - 2 ** 24)).toEqual(expected);
});

test("the kernels take as much memory of their own as the plan gives them", () => {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: MOST_PAGES, shared: true });
  const exports = instantiate(compileKernels(), memory) as unknown as Exported;
  expect(exports.SCRATCH_BYTES.value).toBe(SCRATCH_BYTES);
  expect(exports.CONTROL_BYTES.value).toBe(CONTROL_BYTES);
});
