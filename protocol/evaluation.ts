/** What a model's loss on the held-out rows was after a step. */
export interface Evaluation {
  step: number;
  /** Finite. */
  evalLoss: number;
}
