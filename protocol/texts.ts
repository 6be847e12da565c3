/** The document's text for a bundle that loads but exposes no trainer. */
export const NO_TRAINER =
  "No trainer in src/kit/index.ts yet. Add createTrainer(...) and pass it to createKit.";
