// The entry of a module of its own, which is compiled so that pairs of vectors become ones of 256 bits.
// It must have no data, which would overwrite that of the kernels.
export { wideTile } from "./wideTile";
export { one as wideOne, four as wideFour } from "./quantizedSums";
