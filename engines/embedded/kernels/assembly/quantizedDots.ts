// The sums of quantizedSums.ts, bit-identical, with relaxed dot products of four int8 and four 7-bit numbers.
import {
  Q4_0, Q4_K, Q6_K, Q8_0, blockBytes, columns, hasSubBlocks, headBytes, highScales, highMinimums, isNibbles, lowScales, lowMinimums,
  scaleBytes, ggufColumns,
} from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";

/** Adds products of four numbers. The second operand must be 0 to 127: V8 on x64 reads it as unsigned. */
// @ts-ignore: decorator
@inline
function dot(a: v128, b: v128, sums: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? i32x4.relaxed_dot_i8x16_i7x16_add_s(a, b, sums) : sums;
}

/** Four columns of the first four rows, from two pairs of columns of eight rows. */
// @ts-ignore: decorator
@inline
function firstRows(a: v128, b: v128): v128 {
  return v128.shuffle<i16>(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

// @ts-ignore: decorator
@inline
function lastRows(a: v128, b: v128): v128 {
  return v128.shuffle<i16>(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/** Adds a block's sums to y. @param stride bytes from a scale of x to the sum of its numbers */
// @ts-ignore: decorator
@inline
function addBlock(type: i32, top: usize, block: usize, xScales: usize, stride: usize, a: v128, b: v128, y: usize): void {
  const x = v128.load32_splat(xScales);
  const s = f32x4.mul(lowScales(type, top, block, CONSTANTS), x), t = f32x4.mul(highScales(type, top, block, CONSTANTS), x);
  let c = v128.load(y), d = v128.load(y, 16);
  if (type == Q4_K) {
    const sum = v128.load32_splat(xScales + stride);
    c = f32x4.add(c, f32x4.mul(lowMinimums(top, block), sum));
    d = f32x4.add(d, f32x4.mul(highMinimums(top, block), sum));
  }
  v128.store(y, f32x4.add(c, f32x4.mul(f32x4.convert_i32x4_s(a), s)));
  v128.store(y, f32x4.add(d, f32x4.mul(f32x4.convert_i32x4_s(b), t)), 16);
}

/** What the upper digits, each offset by 64, add to a sum. @param weights sum of the weights, for the offset */
// @ts-ignore: decorator
@inline
function upper(sums: v128, weights: v128): v128 {
  return i32x4.shl(i32x4.sub(sums, i32x4.shl(weights, 6)), 7);
}

/** `oneDots` for one type. Bytes have three sums: upper digits, lower digits, and weights alone. */
// @ts-ignore: decorator
@inline
function oneOf(type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize): void {
  const zero = f32x4.splat(0), ones = i8x16.splat(1), mask = i8x16.splat(15);
  memory.fill(y, 0, 32);
  for (let index = 0, top = w; index < blocks; index++) {
    if (hasSubBlocks(type) && index % (ggufColumns(type) / columns(type)) == 0) { top = w; w += headBytes(type); }
    let a = type == Q4_0 ? v128.load32_splat(xScales, 4) : zero, b = a, c = zero, d = zero, e = zero, f = zero;
    w += scaleBytes(type);
    for (const end = x + columns(type); x < end; w += 32) {
      const s = v128.load(w), t = v128.load(w, 16);
      if (isNibbles(type)) {
        // x is the signed operand.
        const u = v128.load32_splat(x), v = v128.load32_splat(x, 4);
        a = dot(v, i8x16.shr_u(s, 4), dot(u, v128.and(s, mask), a));
        b = dot(v, i8x16.shr_u(t, 4), dot(u, v128.and(t, mask), b));
        x += 8;
      } else {
        const u = firstRows(s, t), v = lastRows(s, t), p = v128.load32_splat(x), q = v128.load32_splat(x + columns(type));
        a = dot(u, p, a); b = dot(v, p, b);
        c = dot(u, q, c); d = dot(v, q, d);
        e = dot(u, ones, e); f = dot(v, ones, f);
        x += 4;
      }
    }
    if (!isNibbles(type)) {
      a = i32x4.add(upper(a, e), c);
      b = i32x4.add(upper(b, f), d);
      x += columns(type);
    }
    addBlock(type, top, w - blockBytes(type), xScales, 4, a, b, y);
    xScales += 8;
  }
}

/** `fourDots` for one type. Of bytes, upper digits come first, then lower ones, so that all sums fit in registers. */
// @ts-ignore: decorator
@inline
function fourOf(type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize): void {
  const zero = f32x4.splat(0), ones = i8x16.splat(1), mask = i8x16.splat(15);
  memory.fill(y, 0, 128);
  for (let index = 0, top = w; index < blocks; index++) {
    if (hasSubBlocks(type) && index % (ggufColumns(type) / columns(type)) == 0) { top = w; w += headBytes(type); }
    let a = zero, c = zero, e = zero, g = zero, i = zero, j = zero;
    if (type == Q4_0) {
      a = v128.load32_splat(xScales, 16); c = v128.load32_splat(xScales, 20);
      e = v128.load32_splat(xScales, 24); g = v128.load32_splat(xScales, 28);
    }
    let b = a, d = c, f = e, h = g;
    w += scaleBytes(type);
    for (let digits = isNibbles(type) ? 1 : 2; digits > 0; digits--) {
      for (const end = x + 4 * columns(type); x < end; w += 32) {
        let s = v128.load(w), t = v128.load(w, 16), p = v128.load32_splat(x);
        if (isNibbles(type)) {
          const u = v128.and(s, mask), v = v128.and(t, mask);
          a = dot(p, u, a); b = dot(p, v, b); p = v128.load32_splat(x, 4); c = dot(p, u, c); d = dot(p, v, d);
          p = v128.load32_splat(x, 8); e = dot(p, u, e); f = dot(p, v, f);
          p = v128.load32_splat(x, 12); g = dot(p, u, g); h = dot(p, v, h);
          s = i8x16.shr_u(s, 4); t = i8x16.shr_u(t, 4); p = v128.load32_splat(x, 16);
          a = dot(p, s, a); b = dot(p, t, b); p = v128.load32_splat(x, 20); c = dot(p, s, c); d = dot(p, t, d);
          p = v128.load32_splat(x, 24); e = dot(p, s, e); f = dot(p, t, f);
          p = v128.load32_splat(x, 28); g = dot(p, s, g); h = dot(p, t, h);
          x += 32;
        } else {
          const u = firstRows(s, t), v = lastRows(s, t);
          if (digits == 2) { i = dot(u, ones, i); j = dot(v, ones, j); }
          a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 4); c = dot(u, p, c); d = dot(v, p, d);
          p = v128.load32_splat(x, 8); e = dot(u, p, e); f = dot(v, p, f);
          p = v128.load32_splat(x, 12); g = dot(u, p, g); h = dot(v, p, h);
          x += 16;
        }
      }
      if (digits == 2) {
        a = upper(a, i); c = upper(c, i); e = upper(e, i); g = upper(g, i);
        b = upper(b, j); d = upper(d, j); f = upper(f, j); h = upper(h, j);
        w += scaleBytes(type) - blockBytes(type);
      }
    }
    const block = w - blockBytes(type);
    addBlock(type, top, block, xScales, 16, a, b, y);
    addBlock(type, top, block, xScales + 4, 16, c, d, y + 32);
    addBlock(type, top, block, xScales + 8, 16, e, f, y + 64);
    addBlock(type, top, block, xScales + 12, 16, g, h, y + 96);
    xScales += 32;
  }
}

/** A group times one row of x. @param y [8] */
export function oneDots(type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize): void {
  if (type == Q4_0) oneOf(Q4_0, blocks, w, x, xScales, y);
  else if (type == Q4_K) oneOf(Q4_K, blocks, w, x, xScales, y);
  else if (type == Q6_K) oneOf(Q6_K, blocks, w, x, xScales, y);
  else oneOf(Q8_0, blocks, w, x, xScales, y);
}

/** A group times four rows of x. @param y [row][8] */
export function fourDots(type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize): void {
  if (type == Q4_0) fourOf(Q4_0, blocks, w, x, xScales, y);
  else if (type == Q4_K) fourOf(Q4_K, blocks, w, x, xScales, y);
  else if (type == Q6_K) fourOf(Q6_K, blocks, w, x, xScales, y);
  else fourOf(Q8_0, blocks, w, x, xScales, y);
}
