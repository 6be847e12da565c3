import { exponentials, maximum } from "./softmax";
import { begin, claim } from "./thread";
import { at, LANES } from "./vector";

/** What is known of a row of logits. */
const WORDS: i32 = 2;

/**
 * Masks rows of logits, and finds the likeliest token of each.
 * @param logits [rows, vocabulary], their rows `row` elements apart
 * @param mask [vocabulary]: 0 for a token that may be chosen, −Infinity for others; added to the logits
 * @param found [rows, 2], int32: the first token of the greatest logit, and 1 if the logits tell tokens apart: all
 * are finite, and not all the same
 */
export function likeliest(
  rows: i32, vocabulary: i32, row: i32, logits: usize, mask: usize, found: usize,
): void {
  const counter = begin();
  for (let r = claim(counter); r < rows; r = claim(counter)) {
    const line = at(logits, r * row), to = at(found, r * WORDS);
    store<i32>(to, telling(line, vocabulary) ? 1 : 0, 4);
    addMask(line, mask, vocabulary);
    store<i32>(to, indexOf(line, vocabulary, maximum(line, vocabulary)));
  }
}

/** x − x is 0 for finite numbers alone. */
function telling(x: usize, count: i32): bool {
  const first = v128.load32_splat(x), zero = f32x4.splat(0);
  let odd = zero, other = zero, i = 0;
  for (; i + LANES <= count; i += LANES) {
    const v = v128.load(at(x, i));
    odd = v128.or(odd, f32x4.ne(f32x4.sub(v, v), zero));
    other = v128.or(other, f32x4.ne(v, first));
  }
  for (; i < count; i++) {
    const v = v128.load32_splat(at(x, i));
    odd = v128.or(odd, f32x4.ne(f32x4.sub(v, v), zero));
    other = v128.or(other, f32x4.ne(v, first));
  }
  return !v128.any_true(odd) && v128.any_true(other);
}

function addMask(x: usize, mask: usize, count: i32): void {
  let i = 0;
  for (; i + LANES <= count; i += LANES) v128.store(at(x, i), f32x4.add(v128.load(at(x, i)), v128.load(at(mask, i))));
  for (; i < count; i++) store<f32>(at(x, i), load<f32>(at(x, i)) + load<f32>(at(mask, i)));
}

/** The first place of a number; 0 if it is nowhere. */
function indexOf(x: usize, count: i32, value: f32): i32 {
  const wanted = f32x4.splat(value);
  let i = 0;
  for (; i + LANES <= count; i += LANES) if (v128.any_true(f32x4.eq(v128.load(at(x, i)), wanted))) break;
  for (; i < count; i++) if (load<f32>(at(x, i)) == value) return i;
  return 0;
}

/**
 * x = e^((x − highest) / temperature) in place, by this thread alone: the masses of tokens by their logits, of which
 * the likeliest has 1.
 */
export function masses(count: i32, x: usize, temperature: f32): void {
  const highest = maximum(x, count), shift = f32x4.splat(highest), divisor = f32x4.splat(temperature);
  let i = 0;
  for (; i + LANES <= count; i += LANES) {
    v128.store(at(x, i), f32x4.div(f32x4.sub(v128.load(at(x, i)), shift), divisor));
  }
  for (; i < count; i++) store<f32>(at(x, i), (load<f32>(at(x, i)) - highest) / temperature);
  exponentials(x, count, 0);
}
