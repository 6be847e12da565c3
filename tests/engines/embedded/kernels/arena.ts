import type * as kernelTypes from "../../../../engines/embedded/kernels/kernels.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { builtModule } from "../built.ts";

const { compileKernels, instantiate } = await builtModule<typeof modules>("kernels/module.js");
const { CONTROL_BYTES, SCRATCH_BYTES } =
  await builtModule<typeof kernelTypes>("kernels/kernels.js");

export const module = compileKernels();
const PAGE = 65536;
const PAGES = 256;
/** Where the kernels keep their own things, see `arena.ts`. */
const START = 16384;
const GUARD = 0x5aa5c33c;
const GUARD_WORDS = 16;

/** An array of a test's arena. */
export interface Numbers {
  at: number;
  count: number;
  view: Float32Array;
}

/** A memory in which every array has guard words before and behind it. */
export function arena() {
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true });
  const guards: Int32Array[] = [];
  let end = START;

  function guard() {
    const words = new Int32Array(memory.buffer, end, GUARD_WORDS).fill(GUARD);
    guards.push(words);
    end += words.byteLength;
  }
  /** Reserves bytes; a kernel's array begins at any multiple of 4. */
  function bytes(count: number): number {
    if (guards.length === 0) guard();
    const at = end;
    end += Math.ceil(count / 8) * 8;
    guard();
    if (end > PAGES * PAGE) throw new Error("the test's arena is full");
    return at;
  }
  function floats(values: Float32Array): Numbers {
    if (guards.length === 0) guard();
    const at = end;
    const view = new Float32Array(memory.buffer, at, values.length);
    view.set(values);
    end += values.byteLength;
    guard();
    end = Math.ceil(end / 8) * 8;
    return { at, count: values.length, view };
  }
  /** Guard words that have been written over, a count. */
  function broken(): number {
    return guards.reduce((sum, words) => sum + words.filter((word) => word !== GUARD).length, 0);
  }
  return { memory, bytes, floats, broken };
}

export type TestArena = ReturnType<typeof arena>;

/** Where a team of up to `threads` meets and has its scratch memory. */
export function teamOn(memory: TestArena, threads: number) {
  const control = memory.bytes(CONTROL_BYTES);
  const own = Array.from({ length: threads }, () => memory.bytes(SCRATCH_BYTES));
  return { control, own, memory: memory.memory };
}

/** The kernels for this thread alone. */
export function kernelsOn(memory: TestArena): kernelTypes.Kernels {
  const team = teamOn(memory, 1);
  const kernels = instantiate(module, memory.memory);
  kernels.join(1, team.control, team.own[0] ?? 0);
  return kernels;
}
