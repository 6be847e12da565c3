import { exponentials, maximum, multiply } from "./softmax";
import { begin, claim } from "./thread";
import { at } from "./vector";

const ROWS: i32 = 4;

/**
 * Cross-entropy; its gradient, weight · (softmax − one-hot), overwrites the logits.
 * @param logits [rows, vocabulary], rows `row` elements apart
 * @param targets [rows], int32
 * @param weights [rows]: weight of each row's loss
 * @param losses [rows]: weight · −log softmax[target]
 */
export function crossEntropy(
  rows: i32, vocabulary: i32, row: i32, logits: usize, targets: usize, weights: usize, losses: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const line = at(logits, r * row), target = at(line, load<i32>(at(targets, r)));
      const weight = load<f32>(at(weights, r)), chosen = load<f32>(target);
      const highest = maximum(line, vocabulary);
      const total = exponentials(line, vocabulary, highest);
      store<f32>(at(losses, r), weight == 0 ? 0 : weight * (Mathf.log(total) + highest - chosen));
      multiply(line, vocabulary, weight / total);
      store<f32>(target, load<f32>(target) - weight);
    }
  }
}
