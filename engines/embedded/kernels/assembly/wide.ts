// The entry of a module of its own, which is compiled so that pairs of vectors become ones of 256 bits.
// It must have no data, which would overwrite that of the kernels.
export { wideTile } from "./wideTile";
export { oneQ8 as wideOneQ8, oneQ4 as wideOneQ4, fourQ8 as wideFourQ8, fourQ4 as wideFourQ4 } from "./quantizedSums";
