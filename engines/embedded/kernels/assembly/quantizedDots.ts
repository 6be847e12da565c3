// The sums of quantizedSums.ts by relaxed dot products of four int8 by four numbers of 7 bits, with the same bits.
import { BLOCK, high, low } from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";

/** Adds products of four numbers. The second operand is 0 to 127: V8 on x64 reads it without a sign. */
// @ts-ignore: decorator
@inline
function dot(a: v128, b: v128, sums: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? i32x4.relaxed_dot_i8x16_i7x16_add_s(a, b, sums) : sums;
}

/** Of two pairs of columns of eight rows, four columns of the first four rows, or of the last. */
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

// @ts-ignore: decorator
@inline
function settle(isQ4: bool, block: usize, scale: v128, a: v128, b: v128, y: usize): void {
  const s = f32x4.mul(low(isQ4, block, CONSTANTS), scale), t = f32x4.mul(high(isQ4, block, CONSTANTS), scale);
  v128.store(y, f32x4.add(v128.load(y), f32x4.mul(f32x4.convert_i32x4_s(a), s)));
  v128.store(y, f32x4.add(v128.load(y, 16), f32x4.mul(f32x4.convert_i32x4_s(b), t)), 16);
}

/** Sums of upper digits, of which each has 64 too much, and of lower ones become sums of numbers. */
// @ts-ignore: decorator
@inline
function upper(sums: v128, weights: v128): v128 {
  return i32x4.shl(i32x4.sub(sums, i32x4.shl(weights, 6)), 7);
}

/** A group of q8_0 by one row of x. @param y [8] */
export function oneDotsQ8(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  const zero = f32x4.splat(0), ones = i8x16.splat(1);
  memory.fill(y, 0, 32);
  for (; blocks > 0; blocks--) {
    // Upper digits, lower digits, and the weights alone.
    let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero;
    for (const end = x + BLOCK; x < end; x += 4) {
      let s = v128.load(w, 16), t = v128.load(w, 32);
      const u = firstRows(s, t), v = lastRows(s, t);
      s = v128.load32_splat(x); a = dot(u, s, a); b = dot(v, s, b);
      t = v128.load32_splat(x, 32); c = dot(u, t, c); d = dot(v, t, d);
      e = dot(u, ones, e); f = dot(v, ones, f);
      w += 32;
    }
    a = i32x4.add(upper(a, e), c);
    b = i32x4.add(upper(b, f), d);
    settle(false, w - 256, v128.load32_splat(settings), a, b, y);
    w += 16;
    x += BLOCK;
    settings += 8;
  }
}

/** A group of q8_0 by four rows of x. @param y [row][8] */
export function fourDotsQ8(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  const zero = f32x4.splat(0), ones = i8x16.splat(1);
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero, i = zero, j = zero;
    // The upper digits first, then the lower ones, so that all sums find room in registers.
    for (const end = x + 4 * BLOCK; x < end; x += 16) {
      let s = v128.load(w, 16), t = v128.load(w, 32);
      const u = firstRows(s, t), v = lastRows(s, t);
      i = dot(u, ones, i); j = dot(v, ones, j);
      s = v128.load32_splat(x); a = dot(u, s, a); b = dot(v, s, b);
      t = v128.load32_splat(x, 4); c = dot(u, t, c); d = dot(v, t, d);
      s = v128.load32_splat(x, 8); e = dot(u, s, e); f = dot(v, s, f);
      t = v128.load32_splat(x, 12); g = dot(u, t, g); h = dot(v, t, h);
      w += 32;
    }
    a = upper(a, i); c = upper(c, i); e = upper(e, i); g = upper(g, i);
    b = upper(b, j); d = upper(d, j); f = upper(f, j); h = upper(h, j);
    w -= 256;
    for (const end = x + 4 * BLOCK; x < end; x += 16) {
      let s = v128.load(w, 16), t = v128.load(w, 32);
      const u = firstRows(s, t), v = lastRows(s, t);
      s = v128.load32_splat(x); a = dot(u, s, a); b = dot(v, s, b);
      t = v128.load32_splat(x, 4); c = dot(u, t, c); d = dot(v, t, d);
      s = v128.load32_splat(x, 8); e = dot(u, s, e); f = dot(v, s, f);
      t = v128.load32_splat(x, 12); g = dot(u, t, g); h = dot(v, t, h);
      w += 32;
    }
    settleFour(false, w - 256, settings, a, b, c, d, e, f, g, h, y);
    w += 16;
    settings += 32;
  }
}

// @ts-ignore: decorator
@inline
function settleFour(
  isQ4: bool, block: usize, settings: usize,
  a: v128, b: v128, c: v128, d: v128, e: v128, f: v128, g: v128, h: v128, y: usize,
): void {
  settle(isQ4, block, v128.load32_splat(settings), a, b, y);
  settle(isQ4, block, v128.load32_splat(settings, 4), c, d, y + 32);
  settle(isQ4, block, v128.load32_splat(settings, 8), e, f, y + 64);
  settle(isQ4, block, v128.load32_splat(settings, 12), g, h, y + 96);
}

/** A group of q4_0 by one row of x, which is the signed operand. @param y [8] */
export function oneDotsQ4(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  const low = i8x16.splat(15);
  memory.fill(y, 0, 32);
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 4), b = a;
    for (const end = x + BLOCK; x < end; x += 8) {
      const s = v128.load(w, 16), t = v128.load(w, 32), u = v128.load32_splat(x), v = v128.load32_splat(x, 4);
      a = dot(v, i8x16.shr_u(s, 4), dot(u, v128.and(s, low), a));
      b = dot(v, i8x16.shr_u(t, 4), dot(u, v128.and(t, low), b));
      w += 32;
    }
    settle(true, w - 128, v128.load32_splat(settings), a, b, y);
    w += 16;
    settings += 8;
  }
}

/** A group of q4_0 by four rows of x. @param y [row][8] */
export function fourDotsQ4(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  const low = i8x16.splat(15);
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 16), c = v128.load32_splat(settings, 20);
    let e = v128.load32_splat(settings, 24), g = v128.load32_splat(settings, 28);
    let b = a, d = c, f = e, h = g;
    for (const end = x + 4 * BLOCK; x < end; x += 32) {
      let u = v128.load(w, 16), v = v128.load(w, 32), s = v128.and(u, low), t = v128.and(v, low);
      let p = v128.load32_splat(x); a = dot(p, s, a); b = dot(p, t, b);
      p = v128.load32_splat(x, 4); c = dot(p, s, c); d = dot(p, t, d);
      p = v128.load32_splat(x, 8); e = dot(p, s, e); f = dot(p, t, f);
      p = v128.load32_splat(x, 12); g = dot(p, s, g); h = dot(p, t, h);
      s = i8x16.shr_u(u, 4); t = i8x16.shr_u(v, 4);
      p = v128.load32_splat(x, 16); a = dot(p, s, a); b = dot(p, t, b);
      p = v128.load32_splat(x, 20); c = dot(p, s, c); d = dot(p, t, d);
      p = v128.load32_splat(x, 24); e = dot(p, s, e); f = dot(p, t, f);
      p = v128.load32_splat(x, 28); g = dot(p, s, g); h = dot(p, t, h);
      w += 32;
    }
    settleFour(true, w - 128, settings, a, b, c, d, e, f, g, h, y);
    w += 16;
    settings += 32;
  }
}
