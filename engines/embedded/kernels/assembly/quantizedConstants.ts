import { TO_FLOAT } from "./quantizedBlock";

/** The sign, exponent and fraction of float16 as they lie in float32, and 2^112, from its exponent to float32's. */
const SIGN_AND_SIZE: u32 = 0x8fffe000, FROM_HALF: u32 = 0x77800000;
/** Where the first three of a word's four numbers of q4_0 lie. */
const FIRST: u32 = 0x000f000f, SECOND: u32 = 0x00f000f0, THIRD: u32 = 0x0f000f00;

/**
 * What the sums of quantized products take from memory, because V8 builds a constant vector from integers at each
 * use. The module of wide vectors, which may have no data, gets its address.
 */
export const CONSTANTS = memory.data<u32>([TO_FLOAT, SIGN_AND_SIZE, FROM_HALF, FIRST, SECOND, THIRD]);
