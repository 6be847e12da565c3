// Sums of quantized products with plain SIMD: int8 and nibbles are widened to 16 bits and multiplied in pairs. A
// block's sum is an exact integer; blocks add up in float32, without fused multiply-add. Adjacent lanes compute the
// same and are stored together at the end, so that V8 can join them (`wide.ts`).
import {
  Q4_0, Q4_K, Q6_K, Q8_0, blockBytes, columns, hasSubBlocks, headBytes, highScales, highMinimums, isNibbles, lowScales, lowMinimums,
  scaleBytes, ggufColumns,
} from "./quantizedBlock";

/** Adds the products of two columns, for four rows of W. */
// @ts-ignore: decorator
@inline
function dot(w: v128, x: v128, sums: v128): v128 {
  return i32x4.add(sums, i32x4.dot_i16x8_s(w, x));
}

/**
 * Adds a block's sums, scaled by W's and x's scales.
 * @param minimum of q4_K; its factor is `xSum`
 */
// @ts-ignore: decorator
@inline
function add(type: i32, sums: v128, scale: v128, minimum: v128, xScale: v128, xSum: v128, total: v128): v128 {
  if (isNibbles(type)) sums = i32x4.shr_s(sums, 8);
  if (type == Q4_K) total = f32x4.add(total, f32x4.mul(minimum, xSum));
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(scale, xScale)));
}

/** `add` for a group's first four rows. */
// @ts-ignore: decorator
@inline
function addLow(type: i32, sums: v128, top: usize, block: usize, s: v128, t: v128, total: v128, constants: usize): v128 {
  const minimums = type == Q4_K ? lowMinimums(top, block) : sums;
  return add(type, sums, lowScales(type, top, block, constants), minimums, s, t, total);
}

/** `add` for its last four rows. */
// @ts-ignore: decorator
@inline
function addHigh(type: i32, sums: v128, top: usize, block: usize, s: v128, t: v128, total: v128, constants: usize): v128 {
  const minimums = type == Q4_K ? highMinimums(top, block) : sums;
  return add(type, sums, highScales(type, top, block, constants), minimums, s, t, total);
}

// @ts-ignore: decorator
@inline
function put(y: usize, a: v128, b: v128, c: v128, d: v128, e: v128, f: v128, g: v128, h: v128): void {
  v128.store(y, a); v128.store(y, b, 16); v128.store(y, c, 32); v128.store(y, d, 48);
  v128.store(y, e, 64); v128.store(y, f, 80); v128.store(y, g, 96); v128.store(y, h, 112);
}

/** A block's initial sum, which removes q4_0's offset of 8. */
// @ts-ignore: decorator
@inline
function start(type: i32, xScales: usize): v128 {
  return type == Q4_0 ? v128.load32_splat(xScales) : f32x4.splat(0);
}

/** The nibbles at a position of each word, in place; only the last are shifted. */
// @ts-ignore: decorator
@inline
function nibblesAt(words: v128, i: i32, constants: usize): v128 {
  return i == 3 ? i16x8.shr_u(words, 12) : v128.and(words, v128.load32_splat(constants + 4 * i, 12));
}

/** Adds the products of a word's nibbles; x's factors make up for their positions, to 256 times each. */
// @ts-ignore: decorator
@inline
function nibbles(words: v128, p: v128, q: v128, r: v128, s: v128, sums: v128, constants: usize): v128 {
  sums = dot(nibblesAt(words, 0, constants), p, sums);
  sums = dot(nibblesAt(words, 1, constants), q, sums);
  sums = dot(nibblesAt(words, 2, constants), r, sums);
  return dot(nibblesAt(words, 3, constants), s, sums);
}

/** `oneSums` for one type. */
// @ts-ignore: decorator
@inline
function oneOf(
  type: i32, blocks: i32, w: usize, stride: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let w1 = w + stride, w2 = w1 + stride, w3 = w2 + stride;
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
  const blocksPerHead = hasSubBlocks(type) ? ggufColumns(type) / columns(type) : blocks, step = scaleBytes(type);
  do {
    const top = w;
    w += headBytes(type); w1 += headBytes(type); w2 += headBytes(type); w3 += headBytes(type);
    for (let i = 0; i < blocksPerHead; i++) {
      let a = start(type, xScales + 4), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
      w += step; w1 += step; w2 += step; w3 += step;
      for (const end = x + 2 * columns(type); x < end;) {
        if (isNibbles(type)) {
          const p = v128.load32_splat(x), q = v128.load32_splat(x, 4);
          const r = v128.load32_splat(x, 8), s = v128.load32_splat(x, 12);
          a = nibbles(v128.load(w), p, q, r, s, a, constants); b = nibbles(v128.load(w, 16), p, q, r, s, b, constants);
          c = nibbles(v128.load(w1), p, q, r, s, c, constants); d = nibbles(v128.load(w1, 16), p, q, r, s, d, constants);
          e = nibbles(v128.load(w2), p, q, r, s, e, constants); f = nibbles(v128.load(w2, 16), p, q, r, s, f, constants);
          g = nibbles(v128.load(w3), p, q, r, s, g, constants); h = nibbles(v128.load(w3, 16), p, q, r, s, h, constants);
          x += 16;
        } else {
          let t = v128.load32_splat(x);
          a = dot(v128.load_ext<i8>(w), t, a); b = dot(v128.load_ext<i8>(w, 8), t, b);
          c = dot(v128.load_ext<i8>(w1), t, c); d = dot(v128.load_ext<i8>(w1, 8), t, d);
          e = dot(v128.load_ext<i8>(w2), t, e); f = dot(v128.load_ext<i8>(w2, 8), t, f);
          g = dot(v128.load_ext<i8>(w3), t, g); h = dot(v128.load_ext<i8>(w3, 8), t, h);
          t = v128.load32_splat(x, 4);
          a = dot(v128.load_ext<i8>(w, 16), t, a); b = dot(v128.load_ext<i8>(w, 24), t, b);
          c = dot(v128.load_ext<i8>(w1, 16), t, c); d = dot(v128.load_ext<i8>(w1, 24), t, d);
          e = dot(v128.load_ext<i8>(w2, 16), t, e); f = dot(v128.load_ext<i8>(w2, 24), t, f);
          g = dot(v128.load_ext<i8>(w3, 16), t, g); h = dot(v128.load_ext<i8>(w3, 24), t, h);
          x += 8;
        }
        w += 32; w1 += 32; w2 += 32; w3 += 32;
      }
      const s = v128.load32_splat(xScales), t = type == Q4_K ? v128.load32_splat(xScales, 4) : s;
      const back = blockBytes(type), top1 = top + stride, top2 = top1 + stride, top3 = top2 + stride;
      A = addLow(type, a, top, w - back, s, t, A, constants); B = addHigh(type, b, top, w - back, s, t, B, constants);
      C = addLow(type, c, top1, w1 - back, s, t, C, constants); D = addHigh(type, d, top1, w1 - back, s, t, D, constants);
      E = addLow(type, e, top2, w2 - back, s, t, E, constants); F = addHigh(type, f, top2, w2 - back, s, t, F, constants);
      G = addLow(type, g, top3, w3 - back, s, t, G, constants); H = addHigh(type, h, top3, w3 - back, s, t, H, constants);
      xScales += 8;
    }
    blocks -= blocksPerHead;
  } while (hasSubBlocks(type) && blocks > 0);
  put(y, A, B, C, D, E, F, G, H);
}

/** `fourSums` for one type. */
// @ts-ignore: decorator
@inline
function fourOf(
  type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
  const blocksPerHead = hasSubBlocks(type) ? ggufColumns(type) / columns(type) : blocks;
  do {
    const top = w;
    w += headBytes(type);
    for (let i = 0; i < blocksPerHead; i++) {
      let a = start(type, xScales + 16), c = start(type, xScales + 20);
      let e = start(type, xScales + 24), g = start(type, xScales + 28);
      let b = a, d = c, f = e, h = g;
      w += scaleBytes(type);
      for (const end = x + 8 * columns(type); x < end; w += 32) {
        if (isNibbles(type)) {
          const s = v128.load(w), t = v128.load(w, 16);
          let u = nibblesAt(s, 0, constants), v = nibblesAt(t, 0, constants), p = v128.load32_splat(x);
          a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 4); c = dot(u, p, c); d = dot(v, p, d);
          p = v128.load32_splat(x, 8); e = dot(u, p, e); f = dot(v, p, f);
          p = v128.load32_splat(x, 12); g = dot(u, p, g); h = dot(v, p, h);
          u = nibblesAt(s, 1, constants); v = nibblesAt(t, 1, constants); p = v128.load32_splat(x, 16);
          a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 20); c = dot(u, p, c); d = dot(v, p, d);
          p = v128.load32_splat(x, 24); e = dot(u, p, e); f = dot(v, p, f);
          p = v128.load32_splat(x, 28); g = dot(u, p, g); h = dot(v, p, h);
          u = nibblesAt(s, 2, constants); v = nibblesAt(t, 2, constants); p = v128.load32_splat(x, 32);
          a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 36); c = dot(u, p, c); d = dot(v, p, d);
          p = v128.load32_splat(x, 40); e = dot(u, p, e); f = dot(v, p, f);
          p = v128.load32_splat(x, 44); g = dot(u, p, g); h = dot(v, p, h);
          u = nibblesAt(s, 3, constants); v = nibblesAt(t, 3, constants); p = v128.load32_splat(x, 48);
          a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 52); c = dot(u, p, c); d = dot(v, p, d);
          p = v128.load32_splat(x, 56); e = dot(u, p, e); f = dot(v, p, f);
          p = v128.load32_splat(x, 60); g = dot(u, p, g); h = dot(v, p, h);
          x += 64;
        } else {
          let u = v128.load_ext<i8>(w), v = v128.load_ext<i8>(w, 8);
          let t = v128.load32_splat(x); a = dot(u, t, a); b = dot(v, t, b);
          t = v128.load32_splat(x, 4); c = dot(u, t, c); d = dot(v, t, d);
          t = v128.load32_splat(x, 8); e = dot(u, t, e); f = dot(v, t, f);
          t = v128.load32_splat(x, 12); g = dot(u, t, g); h = dot(v, t, h);
          u = v128.load_ext<i8>(w, 16); v = v128.load_ext<i8>(w, 24);
          t = v128.load32_splat(x, 16); a = dot(u, t, a); b = dot(v, t, b);
          t = v128.load32_splat(x, 20); c = dot(u, t, c); d = dot(v, t, d);
          t = v128.load32_splat(x, 24); e = dot(u, t, e); f = dot(v, t, f);
          t = v128.load32_splat(x, 28); g = dot(u, t, g); h = dot(v, t, h);
          x += 32;
        }
      }
      const block = w - blockBytes(type);
      const lows = lowScales(type, top, block, constants), highs = highScales(type, top, block, constants);
      const l = type == Q4_K ? lowMinimums(top, block) : a, m = type == Q4_K ? highMinimums(top, block) : a;
      let s = v128.load32_splat(xScales, 0), t = v128.load32_splat(xScales, 16);
      A = add(type, a, lows, l, s, t, A); B = add(type, b, highs, m, s, t, B);
      s = v128.load32_splat(xScales, 4); t = v128.load32_splat(xScales, 20);
      C = add(type, c, lows, l, s, t, C); D = add(type, d, highs, m, s, t, D);
      s = v128.load32_splat(xScales, 8); t = v128.load32_splat(xScales, 24);
      E = add(type, e, lows, l, s, t, E); F = add(type, f, highs, m, s, t, F);
      s = v128.load32_splat(xScales, 12); t = v128.load32_splat(xScales, 28);
      G = add(type, g, lows, l, s, t, G); H = add(type, h, highs, m, s, t, H);
      xScales += 32;
    }
    blocks -= blocksPerHead;
  } while (hasSubBlocks(type) && blocks > 0);
  put(y, A, B, C, D, E, F, G, H);
}

/**
 * Four groups times one row, in parallel, because the processor prefetches several streams faster than one.
 * @param stride bytes from one group to the next; if 0, only the first group's sums count
 * @param y 4 × [8]
 * @param constants those of quantizedConstants.ts
 */
export function oneSums(
  type: i32, blocks: i32, w: usize, stride: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void {
  if (type == Q4_0) oneOf(Q4_0, blocks, w, stride, x, xScales, y, constants);
  else if (type == Q4_K) oneOf(Q4_K, blocks, w, stride, x, xScales, y, constants);
  else if (type == Q6_K) oneOf(Q6_K, blocks, w, stride, x, xScales, y, constants);
  else oneOf(Q8_0, blocks, w, stride, x, xScales, y, constants);
}

/**
 * A group times four rows.
 * @param y [row][8]
 * @param constants those of quantizedConstants.ts
 */
export function fourSums(
  type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void {
  if (type == Q4_0) fourOf(Q4_0, blocks, w, x, xScales, y, constants);
  else if (type == Q4_K) fourOf(Q4_K, blocks, w, x, xScales, y, constants);
  else if (type == Q6_K) fourOf(Q6_K, blocks, w, x, xScales, y, constants);
  else fourOf(Q8_0, blocks, w, x, xScales, y, constants);
}
