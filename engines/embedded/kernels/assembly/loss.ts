import { maximum } from "./softmax";
import { begin, claim } from "./thread";
import { at, exp, expOne, LANES, sum } from "./vector";

const ROWS: i32 = 4;

/**
 * Cross-entropy, and its gradient in place of the logits: weight · (softmax − one-hot).
 * @param logits [rows, vocabulary]
 * @param targets [rows], int32
 * @param weights [rows]: what each row's loss counts
 * @param losses [rows]: weight · −log softmax[target]
 */
export function crossEntropy(
  rows: i32, vocabulary: i32, logits: usize, targets: usize, weights: usize, losses: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const row = at(logits, r * vocabulary), target = at(row, load<i32>(at(targets, r)));
      const weight = load<f32>(at(weights, r)), chosen = load<f32>(target);
      const highest = maximum(row, vocabulary);
      const total = exponentials(row, vocabulary, highest);
      store<f32>(at(losses, r), weight == 0 ? 0 : weight * (Mathf.log(total) + highest - chosen));
      const factor = weight / total, factors = f32x4.splat(factor);
      let i = 0;
      for (; i + LANES <= vocabulary; i += LANES) {
        v128.store(at(row, i), f32x4.mul(v128.load(at(row, i)), factors));
      }
      for (; i < vocabulary; i++) store<f32>(at(row, i), load<f32>(at(row, i)) * factor);
      store<f32>(target, load<f32>(target) - weight);
    }
  }
}

/** x = e^(x − highest) in place; answers the sum. */
function exponentials(x: usize, count: i32, highest: f32): f32 {
  const shift = f32x4.splat(highest);
  let totals = f32x4.splat(0), i = 0;
  for (; i + LANES <= count; i += LANES) {
    const e = exp(f32x4.sub(v128.load(at(x, i)), shift));
    v128.store(at(x, i), e);
    totals = f32x4.add(totals, e);
  }
  let total = sum(totals);
  for (; i < count; i++) {
    const e = expOne(load<f32>(at(x, i)) - highest);
    store<f32>(at(x, i), e);
    total += e;
  }
  return total;
}
