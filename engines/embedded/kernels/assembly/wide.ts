// The entry of a separate module, compiled so that V8 joins pairs of vectors to 256 bits.
// It must have no data segment, which would overwrite the kernels'.
export { wideTile } from "./wideTile";
export { oneSums as wideOne, fourSums as wideFour } from "./quantizedSums";
