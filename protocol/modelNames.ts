/** Models of sizes that Kit names, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";
