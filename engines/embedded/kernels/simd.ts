/** Instruction set of the kernels. Relaxed SIMD has a fused multiply-add. */
export type Simd = "plain" | "relaxed";

/** A module whose only function has a relaxed multiply-add. */
const PROBE = Uint8Array.from([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  // A type: no parameters, a vector as the result; and a function of it.
  0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b, 0x03, 0x02, 0x01, 0x00,
  // Its code: i32.const 0 and i8x16.splat three times, then f32x4.relaxed_madd.
  0x0a, 0x13, 0x01, 0x11, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x41, 0x00, 0xfd, 0x0f, 0x41, 0x00, 0xfd,
  0x0f, 0xfd, 0x85, 0x02, 0x0b,
]);

/** The SIMD that this Node supports without a flag; 22 and later have relaxed SIMD. */
export function availableSimd(): Simd {
  return WebAssembly.validate(PROBE) ? "relaxed" : "plain";
}
