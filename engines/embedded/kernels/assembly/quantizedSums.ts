// Sums of quantized products with plain SIMD: int8 and nibbles become numbers of 16 bits, which are multiplied in
// pairs. Sums of a block are integers and exact; those of blocks are float32, product and addition apart.
import { BLOCK, scales } from "./quantizedBlock";

/**
 * Four groups of q8_0 by one row, read side by side: the processor fetches several pages sooner than one.
 * @param apart bytes from one group to the next. If 0, only the first one's sums count
 * @param y 4 × [8]
 */
export function oneQ8(blocks: i32, w: usize, apart: usize, x: usize, settings: usize, y: usize): void {
  const zero = f32x4.splat(0);
  let w1 = w + apart, w2 = w1 + apart, w3 = w2 + apart;
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero;
    for (const end = x + 2 * BLOCK; x < end; x += 8) {
      let t = v128.load32_splat(x);
      a = dot(v128.load_ext<i8>(w, 16), t, a); b = dot(v128.load_ext<i8>(w, 24), t, b);
      c = dot(v128.load_ext<i8>(w1, 16), t, c); d = dot(v128.load_ext<i8>(w1, 24), t, d);
      e = dot(v128.load_ext<i8>(w2, 16), t, e); f = dot(v128.load_ext<i8>(w2, 24), t, f);
      g = dot(v128.load_ext<i8>(w3, 16), t, g); h = dot(v128.load_ext<i8>(w3, 24), t, h);
      t = v128.load32_splat(x, 4);
      a = dot(v128.load_ext<i8>(w, 32), t, a); b = dot(v128.load_ext<i8>(w, 40), t, b);
      c = dot(v128.load_ext<i8>(w1, 32), t, c); d = dot(v128.load_ext<i8>(w1, 40), t, d);
      e = dot(v128.load_ext<i8>(w2, 32), t, e); f = dot(v128.load_ext<i8>(w2, 40), t, f);
      g = dot(v128.load_ext<i8>(w3, 32), t, g); h = dot(v128.load_ext<i8>(w3, 40), t, h);
      w += 32; w1 += 32; w2 += 32; w3 += 32;
    }
    const t = v128.load32_splat(settings);
    settle(false, w - 256, t, a, b, y); settle(false, w1 - 256, t, c, d, y + 32);
    settle(false, w2 - 256, t, e, f, y + 64); settle(false, w3 - 256, t, g, h, y + 96);
    w += 16; w1 += 16; w2 += 16; w3 += 16;
    settings += 8;
  }
}

/** Adds a block's sums for eight rows of W. */
// @ts-ignore: decorator
@inline
function settle(isQ4: bool, block: usize, scale: v128, a: v128, b: v128, y: usize): void {
  if (isQ4) {
    a = i32x4.shr_s(a, 8);
    b = i32x4.shr_s(b, 8);
  }
  add(y, a, f32x4.mul(scales(isQ4, block), scale));
  add(y + 16, b, f32x4.mul(scales(isQ4, block + 8), scale));
}

// @ts-ignore: decorator
@inline
function add(y: usize, sums: v128, scale: v128): void {
  v128.store(y, f32x4.add(v128.load(y), f32x4.mul(f32x4.convert_i32x4_s(sums), scale)));
}

/**
 * A group of q8_0 by four rows.
 * @param y [row][8]
 */
export function fourQ8(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  const zero = f32x4.splat(0);
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero;
    for (const end = x + 8 * BLOCK; x < end; x += 32) {
      let u = v128.load_ext<i8>(w, 16), v = v128.load_ext<i8>(w, 24);
      let t = v128.load32_splat(x); a = dot(u, t, a); b = dot(v, t, b);
      t = v128.load32_splat(x, 4); c = dot(u, t, c); d = dot(v, t, d);
      t = v128.load32_splat(x, 8); e = dot(u, t, e); f = dot(v, t, f);
      t = v128.load32_splat(x, 12); g = dot(u, t, g); h = dot(v, t, h);
      u = v128.load_ext<i8>(w, 32); v = v128.load_ext<i8>(w, 40);
      t = v128.load32_splat(x, 16); a = dot(u, t, a); b = dot(v, t, b);
      t = v128.load32_splat(x, 20); c = dot(u, t, c); d = dot(v, t, d);
      t = v128.load32_splat(x, 24); e = dot(u, t, e); f = dot(v, t, f);
      t = v128.load32_splat(x, 28); g = dot(u, t, g); h = dot(v, t, h);
      w += 32;
    }
    settleFour(false, w - 256, settings, a, b, c, d, e, f, g, h, y);
    w += 16;
    settings += 32;
  }
}

// @ts-ignore: decorator
@inline
function dot(w: v128, x: v128, sums: v128): v128 {
  return i32x4.add(sums, i32x4.dot_i16x8_s(w, x));
}

/** Adds a block's sums for eight rows of W and four of x. */
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

/** `oneQ8` for q4_0. Each number of x has the factor that its weight's place in a word lacks of 256. */
export function oneQ4(blocks: i32, w: usize, apart: usize, x: usize, settings: usize, y: usize): void {
  let w1 = w + apart, w2 = w1 + apart, w3 = w2 + apart;
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 4), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (const end = x + 2 * BLOCK; x < end; x += 16) {
      const p = v128.load32_splat(x), q = v128.load32_splat(x, 4);
      const r = v128.load32_splat(x, 8), s = v128.load32_splat(x, 12);
      a = nibbles(v128.load(w, 16), p, q, r, s, a); b = nibbles(v128.load(w, 32), p, q, r, s, b);
      c = nibbles(v128.load(w1, 16), p, q, r, s, c); d = nibbles(v128.load(w1, 32), p, q, r, s, d);
      e = nibbles(v128.load(w2, 16), p, q, r, s, e); f = nibbles(v128.load(w2, 32), p, q, r, s, f);
      g = nibbles(v128.load(w3, 16), p, q, r, s, g); h = nibbles(v128.load(w3, 32), p, q, r, s, h);
      w += 32; w1 += 32; w2 += 32; w3 += 32;
    }
    const t = v128.load32_splat(settings);
    settle(true, w - 128, t, a, b, y); settle(true, w1 - 128, t, c, d, y + 32);
    settle(true, w2 - 128, t, e, f, y + 64); settle(true, w3 - 128, t, g, h, y + 96);
    w += 16; w1 += 16; w2 += 16; w3 += 16;
    settings += 8;
  }
}

/** Places of a word's four numbers but the last, in memory: V8 builds a constant vector from integers at each use. */
const MASKS = memory.data<u32>([0x000f000f, 0x00f000f0, 0x0f000f00]);

/** The numbers of a word that lie at this place; the last one's are moved. */
// @ts-ignore: decorator
@inline
function place(words: v128, i: i32): v128 {
  return i == 3 ? i16x8.shr_u(words, 12) : v128.and(words, v128.load32_splat(MASKS + 4 * i));
}

// @ts-ignore: decorator
@inline
function nibbles(words: v128, p: v128, q: v128, r: v128, s: v128, sums: v128): v128 {
  sums = dot(place(words, 0), p, sums);
  sums = dot(place(words, 1), q, sums);
  sums = dot(place(words, 2), r, sums);
  return dot(place(words, 3), s, sums);
}

/** `fourQ8` for q4_0. */
export function fourQ4(blocks: i32, w: usize, x: usize, settings: usize, y: usize): void {
  memory.fill(y, 0, 128);
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 16), c = v128.load32_splat(settings, 20);
    let e = v128.load32_splat(settings, 24), g = v128.load32_splat(settings, 28);
    let b = a, d = c, f = e, h = g;
    for (const end = x + 8 * BLOCK; x < end; x += 64) {
      const s = v128.load(w, 16), t = v128.load(w, 32);
      let u = place(s, 0), v = place(t, 0), p = v128.load32_splat(x); a = dot(u, p, a); b = dot(v, p, b);
      p = v128.load32_splat(x, 4); c = dot(u, p, c); d = dot(v, p, d); p = v128.load32_splat(x, 8); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 12); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 1); v = place(t, 1); p = v128.load32_splat(x, 16); a = dot(u, p, a); b = dot(v, p, b);
      p = v128.load32_splat(x, 20); c = dot(u, p, c); d = dot(v, p, d); p = v128.load32_splat(x, 24); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 28); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 2); v = place(t, 2); p = v128.load32_splat(x, 32); a = dot(u, p, a); b = dot(v, p, b);
      p = v128.load32_splat(x, 36); c = dot(u, p, c); d = dot(v, p, d); p = v128.load32_splat(x, 40); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 44); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 3); v = place(t, 3); p = v128.load32_splat(x, 48); a = dot(u, p, a); b = dot(v, p, b);
      p = v128.load32_splat(x, 52); c = dot(u, p, c); d = dot(v, p, d); p = v128.load32_splat(x, 56); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 60); g = dot(u, p, g); h = dot(v, p, h);
      w += 32;
    }
    settleFour(true, w - 128, settings, a, b, c, d, e, f, g, h, y);
    w += 16;
    settings += 32;
  }
}
