import { TO_FLOAT } from "./quantizedBlock";

/** The bits of float16's sign, exponent and fraction shifted to float32, and 2^112, which rebiases the exponent. */
const SIGN_AND_SIZE: u32 = 0x8fffe000, FROM_HALF: u32 = 0x77800000;
/** Masks of the first three of a word's four nibbles. */
const FIRST: u32 = 0x000f000f, SECOND: u32 = 0x00f000f0, THIRD: u32 = 0x0f000f00;

/**
 * Constants of quantized products, in memory because V8 rebuilds a constant vector at each use. The module of wide
 * vectors, which may have no data, gets their address.
 */
export const CONSTANTS = memory.data<u32>([TO_FLOAT, SIGN_AND_SIZE, FROM_HALF, FIRST, SECOND, THIRD]);
