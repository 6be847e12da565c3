import { exp, expOne } from "./exp";
import { maximum } from "./softmax";
import { begin, claim } from "./thread";
import { at, maxLane, LANES, sum } from "./vector";

/** int32 words of `found` for each row. */
const WORDS: i32 = 2;
/** Tokens per word of bits. */
const BITS: i32 = 32;

/**
 * The most likely allowed token of each row of logits.
 * @param logits [rows, vocabulary], their rows `row` elements apart
 * @param allowed [rows], int32: address of each row's bit mask [vocabulary], lowest bit first, 1 for an allowed token
 * @param found [rows, 2], int32: the first allowed token with the highest logit, −1 if none is allowed; and whether
 * the logits are degenerate: some not finite, or all equal
 */
export function argmax(
  rows: i32, vocabulary: i32, row: i32, logits: usize, allowed: usize, found: usize,
): void {
  const counter = begin();
  for (let r = claim(counter); r < rows; r = claim(counter)) {
    const line = at(logits, r * row), bits = <usize>load<u32>(at(allowed, r)), to = at(found, r * WORDS);
    store<i32>(to, isDegenerate(line, vocabulary) ? 1 : 0, 4);
    store<i32>(to, indexOf(line, bits, vocabulary, allowedMaximum(line, bits, vocabulary)));
  }
}

/** Whether some numbers are not finite (x − x isn't 0), or all are equal. */
function isDegenerate(x: usize, count: i32): bool {
  const first = v128.load32_splat(x), zero = f32x4.splat(0);
  let nonFinite = zero, differing = zero, i = 0;
  for (; i + LANES <= count; i += LANES) {
    const v = v128.load(at(x, i));
    nonFinite = v128.or(nonFinite, f32x4.ne(f32x4.sub(v, v), zero));
    differing = v128.or(differing, f32x4.ne(v, first));
  }
  for (; i < count; i++) {
    const v = v128.load32_splat(at(x, i));
    nonFinite = v128.or(nonFinite, f32x4.ne(f32x4.sub(v, v), zero));
    differing = v128.or(differing, f32x4.ne(v, first));
  }
  return v128.any_true(nonFinite) || !v128.any_true(differing);
}

// @ts-ignore: decorator
@inline
function wordOf(bits: usize, i: i32): i32 {
  return load<i32>(at(bits, i >> 5));
}

// @ts-ignore: decorator
@inline
function isAllowed(bits: usize, i: i32): bool {
  return ((wordOf(bits, i) >>> (i & 31)) & 1) == 1;
}

/** The four numbers at `x`; −Infinity where the matching one of the word's lowest four bits is 0. */
// @ts-ignore: decorator
@inline
function loadAllowed(x: usize, word: i32): v128 {
  const bit = v128.and(i32x4.splat(word), i32x4(1, 2, 4, 8));
  return v128.bitselect(f32x4.splat(-Infinity), v128.load(x), i32x4.eq(bit, i32x4.splat(0)));
}

function allowedMaximum(x: usize, bits: usize, count: i32): f32 {
  let highest = f32x4.splat(-Infinity), i = 0;
  for (; i + BITS <= count; i += BITS) {
    let word = wordOf(bits, i);
    for (let j = i; word != 0; j += LANES, word >>>= LANES) highest = f32x4.pmax(highest, loadAllowed(at(x, j), word));
  }
  for (; i < count; i++) if (isAllowed(bits, i)) highest = f32x4.pmax(highest, v128.load32_splat(at(x, i)));
  return maxLane(highest);
}

/** Index of the first allowed occurrence of a number, or −1. */
function indexOf(x: usize, bits: usize, count: i32, value: f32): i32 {
  const wanted = f32x4.splat(value);
  let i = 0;
  for (; i + LANES <= count; i += LANES) {
    if (!v128.any_true(f32x4.eq(v128.load(at(x, i)), wanted))) continue;
    for (let j = i; j < i + LANES; j++) if (load<f32>(at(x, j)) == value && isAllowed(bits, j)) return j;
  }
  for (; i < count; i++) if (load<f32>(at(x, i)) == value && isAllowed(bits, i)) return i;
  return -1;
}

/** Buckets of probabilities, an eighth of a power of two each; the last has all below 2^−30, which are never drawn. */
const BUCKETS: u32 = 242;
/** Bits of a float32 below the exponent and the top three fraction bits, which choose the bucket; those bits of 1.0. */
const BUCKET_SHIFT: u32 = 20;
const ONE_BITS: u32 = 127 << 3;

/**
 * Unnormalized probabilities: x = e^((x − highest) / temperature), in place, on this thread alone. Nearly 0 for tokens
 * that `bits` doesn't allow.
 * @param sums [LANES, BUCKETS], float64: each bucket's sum; a lane sums every fourth token, to break the dependency chain
 */
export function expLogits(count: i32, x: usize, temperature: f32, bits: usize, sums: usize): void {
  const highest = allowedMaximum(x, bits, count), shift = f32x4.splat(highest), divisor = f32x4.splat(temperature);
  memory.fill(sums, 0, LANE_BYTES * LANES);
  let i = 0;
  for (; i + LANES <= count; i += LANES) {
    const v = loadAllowed(at(x, i), wordOf(bits, i) >>> (i & 31));
    const e = exp(f32x4.div(f32x4.sub(v, shift), divisor));
    v128.store(at(x, i), e);
    addToBuckets(e, sums);
  }
  for (; i < count; i++) {
    const e = isAllowed(bits, i) ? expOne((load<f32>(at(x, i)) - highest) / temperature) : 0;
    store<f32>(at(x, i), e);
    addToBuckets(f32x4.replace_lane(f32x4.splat(0), 0, e), sums);
  }
}

/** Bytes of one lane's sums. */
const LANE_BYTES: usize = BUCKETS * 8;

/** Adds four probabilities to their buckets' sums. */
// @ts-ignore: decorator
@inline
function addToBuckets(weights: v128, sums: usize): void {
  const groups = i32x4.sub(i32x4.splat(ONE_BITS), i32x4.shr_u(weights, BUCKET_SHIFT));
  const offsets = i32x4.shl(i32x4.min_u(groups, i32x4.splat(BUCKETS - 1)), 3);
  const low = f64x2.promote_low_f32x4(weights);
  const high = f64x2.promote_low_f32x4(v128.shuffle<i64>(weights, weights, 1, 1));
  addTo(sums + <usize>i32x4.extract_lane(offsets, 0), f64x2.extract_lane(low, 0));
  addTo(sums + LANE_BYTES + <usize>i32x4.extract_lane(offsets, 1), f64x2.extract_lane(low, 1));
  addTo(sums + 2 * LANE_BYTES + <usize>i32x4.extract_lane(offsets, 2), f64x2.extract_lane(high, 0));
  addTo(sums + 3 * LANE_BYTES + <usize>i32x4.extract_lane(offsets, 3), f64x2.extract_lane(high, 1));
}

// @ts-ignore: decorator
@inline
function addTo(sum: usize, weight: f64): void {
  store<f64>(sum, load<f64>(sum) + weight);
}

/** Writes a bucket's tokens to `tokens` [vocabulary], int32, in order. @returns their count */
export function tokensOf(bucket: u32, count: i32, x: usize, tokens: usize): i32 {
  const first = ONE_BITS - bucket, wanted = i32x4.splat(first);
  let found = 0, i = 0;
  for (; i + LANES <= count; i += LANES) {
    const hits = i32x4.bitmask(i32x4.eq(i32x4.shr_u(v128.load(at(x, i)), BUCKET_SHIFT), wanted));
    for (let left = hits; left != 0; left &= left - 1) store<i32>(at(tokens, found++), i + ctz(left));
  }
  for (; i < count; i++) if (load<u32>(at(x, i)) >> BUCKET_SHIFT == first) store<i32>(at(tokens, found++), i);
  return found;
}

/** The highest logit of a row, on this thread alone. */
export function maxLogit(count: i32, x: usize): f32 {
  return maximum(x, count);
}

/** Σ e^(x − highest), on this thread alone. */
export function sumExp(count: i32, x: usize, highest: f32): f32 {
  const shift = f32x4.splat(highest);
  let totals = f32x4.splat(0), i = 0;
  for (; i + LANES <= count; i += LANES) totals = f32x4.add(totals, exp(f32x4.sub(v128.load(at(x, i)), shift)));
  let total = sum(totals);
  for (; i < count; i++) total += expOne(load<f32>(at(x, i)) - highest);
  return total;
}
