// The entry of a module of its own, which is compiled so that pairs of vectors become ones of 256 bits.
// It has no data: that would lie where the kernels have theirs.
export { widePeak } from "./peak";
export { wideTile } from "./wideTile";
