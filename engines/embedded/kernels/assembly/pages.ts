import { softmax } from "./softmax";
import { begin, claim } from "./thread";
import { at, fma, LANES } from "./vector";

// A paged KV cache with pages of 16 positions. A page's keys are [kvHeads, headDim, 16], so that a vector has one
// element of four keys; its values are [kvHeads, 16, headDim]. Page table[sequence, i] has a sequence's positions
// from PAGE · i.

/** Positions per page. */
const PAGE: i32 = 16;
/** Tokens whose keys a thread stores at a time. */
const ROWS: i32 = 4;
/** Elements of a value summed at a time. */
const COLUMNS: i32 = 8 * LANES;

/** The page of a token's position. @param tableRows [tokens], int32: its row of the table [sequences, tableStride] */
// @ts-ignore: decorator
@inline
function pageOf(i: i32, position: i32, tableRows: usize, table: usize, tableStride: i32): i32 {
  return load<i32>(at(table, load<i32>(at(tableRows, i)) * tableStride + position / PAGE));
}

/**
 * Stores the keys and values of new tokens in their pages.
 * @param k [count, row], rotated: a token's keys [kvHeads, headDim], followed by its values
 * @param positions [count], int32
 */
export function storeKeys(
  count: i32, kvHeads: i32, headDim: i32, k: usize, row: i32, positions: usize,
  tableRows: usize, table: usize, tableStride: i32, keys: usize, values: usize,
): void {
  const counter = begin(), kvRow = kvHeads * headDim;
  for (let i = claim(counter) * ROWS; i < count; i = claim(counter) * ROWS) {
    for (const end = min(i + ROWS, count); i < end; i++) {
      const position = load<i32>(at(positions, i)), from = at(k, i * row);
      const page = pageOf(i, position, tableRows, table, tableStride) * kvRow * PAGE + position % PAGE;
      for (let o = 0; o < kvRow; o++) store<f32>(at(keys, page + o * PAGE), load<f32>(at(from, o)));
      for (let head = 0; head < kvHeads; head++) {
        const to = page - position % PAGE + (head * PAGE + position % PAGE) * headDim;
        memory.copy(at(values, to), at(from, kvRow + head * headDim), <usize>headDim << 2);
      }
    }
  }
}

/**
 * Attention of new tokens to the cached keys and values of their sequences, including their own. A thread claims a
 * head of a token and sums in position order, whatever else is in the batch.
 * @param window maximum positions a query attends to, including its own; earlier pages are not read
 * @param q [count, row], rotated
 * @param scores scratch of this thread, for all positions in a sequence's pages
 * @param out [count, heads · headDim]
 */
export function attendPages(
  count: i32, heads: i32, kvHeads: i32, headDim: i32, scale: f32, window: i32, q: usize, row: i32, positions: usize,
  tableRows: usize, table: usize, tableStride: i32, keys: usize, values: usize, scores: usize, out: usize,
): void {
  const counter = begin(), page = PAGE * headDim, scales = f32x4.splat(scale);
  for (let job = claim(counter); job < count * heads; job = claim(counter)) {
    const i = job / heads, head = job % heads, kvHead = head / (heads / kvHeads);
    const length = load<i32>(at(positions, i)) + 1, query = at(q, i * row + head * headDim);
    const first = max(0, length - window) / PAGE, seen = length - first * PAGE, hidden = max(0, seen - window);
    const pages = at(table, load<i32>(at(tableRows, i)) * tableStride + first);
    for (let j = 0; j < seen; j += PAGE) {
      const from = (load<i32>(at(pages, j / PAGE)) * kvHeads + kvHead) * page;
      scorePage(headDim, query, at(keys, from), scales, at(scores, j));
    }
    memory.fill(scores, 0, <usize>hidden << 2);
    softmax(at(scores, hidden), seen - hidden);
    mix(seen, headDim, scores, pages, at(values, kvHead * page), kvHeads * page, at(out, job * headDim));
  }
}

/** scores [16] = q · each key of a page · scale. */
// @ts-ignore: decorator
@inline
function scorePage(headDim: i32, q: usize, keys: usize, scale: v128, scores: usize): void {
  let a = f32x4.splat(0), b = a, c = a, d = a;
  for (const end = at(q, headDim); q < end; q += 4, keys += 4 * PAGE) {
    const s = v128.load32_splat(q);
    a = fma(s, v128.load(keys), a);
    b = fma(s, v128.load(keys, 16), b);
    c = fma(s, v128.load(keys, 32), c);
    d = fma(s, v128.load(keys, 48), d);
  }
  v128.store(scores, f32x4.mul(a, scale));
  v128.store(scores, f32x4.mul(b, scale), 16);
  v128.store(scores, f32x4.mul(c, scale), 32);
  v128.store(scores, f32x4.mul(d, scale), 48);
}

/** out [headDim] = Σ p[j] · v[j, :]. @param page elements from one page's values of a head to the next page's */
function mix(seen: i32, headDim: i32, p: usize, pages: usize, values: usize, page: i32, out: usize): void {
  let o = 0;
  for (; o + COLUMNS <= headDim; o += COLUMNS) mixEight(seen, headDim, p, pages, at(values, o), page, at(out, o));
  for (; o + LANES <= headDim; o += LANES) {
    let total = f32x4.splat(0);
    for (let j = 0; j < seen; j++) {
      total = fma(v128.load32_splat(at(p, j)), v128.load(valueAt(j, headDim, pages, at(values, o), page)), total);
    }
    v128.store(at(out, o), total);
  }
  for (; o < headDim; o++) {
    let total: f32 = 0;
    for (let j = 0; j < seen; j++) {
      total += load<f32>(at(p, j)) * load<f32>(valueAt(j, headDim, pages, at(values, o), page));
    }
    store<f32>(at(out, o), total);
  }
}

// @ts-ignore: decorator
@inline
function valueAt(j: i32, headDim: i32, pages: usize, values: usize, page: i32): usize {
  return at(values, load<i32>(at(pages, j / PAGE)) * page + j % PAGE * headDim);
}

/** 32 elements of a value. */
function mixEight(
  seen: i32, headDim: i32, p: usize, pages: usize, values: usize, page: i32, out: usize,
): void {
  const zero = f32x4.splat(0), row = <usize>headDim << 2;
  let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero;
  for (let j = 0; j < seen; j += PAGE) {
    let v = at(values, load<i32>(at(pages, j / PAGE)) * page), s = at(p, j);
    for (const end = at(p, min(seen, j + PAGE)); s < end; s += 4, v += row) {
      const weight = v128.load32_splat(s);
      a = fma(weight, v128.load(v), a); b = fma(weight, v128.load(v, 16), b);
      c = fma(weight, v128.load(v, 32), c); d = fma(weight, v128.load(v, 48), d);
      e = fma(weight, v128.load(v, 64), e); f = fma(weight, v128.load(v, 80), f);
      g = fma(weight, v128.load(v, 96), g); h = fma(weight, v128.load(v, 112), h);
    }
  }
  v128.store(out, a); v128.store(out, b, 16); v128.store(out, c, 32); v128.store(out, d, 48);
  v128.store(out, e, 64); v128.store(out, f, 80); v128.store(out, g, 96); v128.store(out, h, 112);
}
