/** A 32-bit address of WebAssembly reaches this much memory. */
export const MOST_GIB = 4;

export const MOST_BYTES = MOST_GIB * 2 ** 30;
