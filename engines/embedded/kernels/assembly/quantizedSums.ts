// Sums of quantized products with plain SIMD: int8 and nibbles become numbers of 16 bits, which are multiplied in
// pairs. Sums of a block are integers and exact; those of blocks are float32, product and addition apart. Lanes that
// lie side by side are computed alike and stored together at the end, so that V8 can join them (`wide.ts`).
import { BLOCK, high, low } from "./quantizedBlock";

/** Adds the products of a pair of columns, for four rows of W. */
// @ts-ignore: decorator
@inline
function dot(w: v128, x: v128, sums: v128): v128 {
  return i32x4.add(sums, i32x4.dot_i16x8_s(w, x));
}

/** Adds a block's sums, by the scales of W and of x. */
// @ts-ignore: decorator
@inline
function add(isQ4: bool, sums: v128, scale: v128, xScale: v128, total: v128): v128 {
  if (isQ4) sums = i32x4.shr_s(sums, 8);
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(scale, xScale)));
}

// @ts-ignore: decorator
@inline
function put(y: usize, a: v128, b: v128, c: v128, d: v128, e: v128, f: v128, g: v128, h: v128): void {
  v128.store(y, a); v128.store(y, b, 16); v128.store(y, c, 32); v128.store(y, d, 48);
  v128.store(y, e, 64); v128.store(y, f, 80); v128.store(y, g, 96); v128.store(y, h, 112);
}

/**
 * Four groups of q8_0 by one row, read side by side: the processor fetches several pages sooner than one.
 * @param apart bytes from one group to the next. If 0, only the first one's sums count
 * @param y 4 × [8]
 * @param constants those of quantizedConstants.ts
 */
export function oneQ8(
  blocks: i32, w: usize, apart: usize, x: usize, settings: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let w1 = w + apart, w2 = w1 + apart, w3 = w2 + apart;
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
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
    A = add(false, a, low(false, w - 256, constants), t, A);
    B = add(false, b, high(false, w - 256, constants), t, B);
    C = add(false, c, low(false, w1 - 256, constants), t, C);
    D = add(false, d, high(false, w1 - 256, constants), t, D);
    E = add(false, e, low(false, w2 - 256, constants), t, E);
    F = add(false, f, high(false, w2 - 256, constants), t, F);
    G = add(false, g, low(false, w3 - 256, constants), t, G);
    H = add(false, h, high(false, w3 - 256, constants), t, H);
    w += 16; w1 += 16; w2 += 16; w3 += 16;
    settings += 8;
  }
  put(y, A, B, C, D, E, F, G, H);
}

/**
 * A group of q8_0 by four rows.
 * @param y [row][8]
 * @param constants those of quantizedConstants.ts
 */
export function fourQ8(
  blocks: i32, w: usize, x: usize, settings: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
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
    const lows = low(false, w - 256, constants), highs = high(false, w - 256, constants);
    let scale = v128.load32_splat(settings); A = add(false, a, lows, scale, A); B = add(false, b, highs, scale, B);
    scale = v128.load32_splat(settings, 4); C = add(false, c, lows, scale, C); D = add(false, d, highs, scale, D);
    scale = v128.load32_splat(settings, 8); E = add(false, e, lows, scale, E); F = add(false, f, highs, scale, F);
    scale = v128.load32_splat(settings, 12); G = add(false, g, lows, scale, G); H = add(false, h, highs, scale, H);
    w += 16;
    settings += 32;
  }
  put(y, A, B, C, D, E, F, G, H);
}

/** The numbers of a word that lie at this place; the last one's are moved. */
// @ts-ignore: decorator
@inline
function place(words: v128, i: i32, constants: usize): v128 {
  return i == 3 ? i16x8.shr_u(words, 12) : v128.and(words, v128.load32_splat(constants + 4 * i, 12));
}

// @ts-ignore: decorator
@inline
function nibbles(words: v128, p: v128, q: v128, r: v128, s: v128, sums: v128, constants: usize): v128 {
  sums = dot(place(words, 0, constants), p, sums);
  sums = dot(place(words, 1, constants), q, sums);
  sums = dot(place(words, 2, constants), r, sums);
  return dot(place(words, 3, constants), s, sums);
}

/** `oneQ8` for q4_0. Each number of x has the factor that its weight's place in a word lacks of 256. */
export function oneQ4(
  blocks: i32, w: usize, apart: usize, x: usize, settings: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let w1 = w + apart, w2 = w1 + apart, w3 = w2 + apart;
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 4), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (const end = x + 2 * BLOCK; x < end; x += 16) {
      const p = v128.load32_splat(x), q = v128.load32_splat(x, 4);
      const r = v128.load32_splat(x, 8), s = v128.load32_splat(x, 12);
      a = nibbles(v128.load(w, 16), p, q, r, s, a, constants);
      b = nibbles(v128.load(w, 32), p, q, r, s, b, constants);
      c = nibbles(v128.load(w1, 16), p, q, r, s, c, constants);
      d = nibbles(v128.load(w1, 32), p, q, r, s, d, constants);
      e = nibbles(v128.load(w2, 16), p, q, r, s, e, constants);
      f = nibbles(v128.load(w2, 32), p, q, r, s, f, constants);
      g = nibbles(v128.load(w3, 16), p, q, r, s, g, constants);
      h = nibbles(v128.load(w3, 32), p, q, r, s, h, constants);
      w += 32; w1 += 32; w2 += 32; w3 += 32;
    }
    const t = v128.load32_splat(settings);
    A = add(true, a, low(true, w - 128, constants), t, A); B = add(true, b, high(true, w - 128, constants), t, B);
    C = add(true, c, low(true, w1 - 128, constants), t, C); D = add(true, d, high(true, w1 - 128, constants), t, D);
    E = add(true, e, low(true, w2 - 128, constants), t, E); F = add(true, f, high(true, w2 - 128, constants), t, F);
    G = add(true, g, low(true, w3 - 128, constants), t, G); H = add(true, h, high(true, w3 - 128, constants), t, H);
    w += 16; w1 += 16; w2 += 16; w3 += 16;
    settings += 8;
  }
  put(y, A, B, C, D, E, F, G, H);
}

/** `fourQ8` for q4_0. */
export function fourQ4(
  blocks: i32, w: usize, x: usize, settings: usize, y: usize, constants: usize,
): void {
  const zero = f32x4.splat(0);
  let A = zero, B = zero, C = zero, D = zero, E = zero, F = zero, G = zero, H = zero;
  for (; blocks > 0; blocks--) {
    let a = v128.load32_splat(settings, 16), c = v128.load32_splat(settings, 20);
    let e = v128.load32_splat(settings, 24), g = v128.load32_splat(settings, 28);
    let b = a, d = c, f = e, h = g;
    for (const end = x + 8 * BLOCK; x < end; x += 64) {
      const s = v128.load(w, 16), t = v128.load(w, 32);
      let u = place(s, 0, constants), v = place(t, 0, constants), p = v128.load32_splat(x);
      a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 4); c = dot(u, p, c); d = dot(v, p, d);
      p = v128.load32_splat(x, 8); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 12); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 1, constants); v = place(t, 1, constants); p = v128.load32_splat(x, 16);
      a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 20); c = dot(u, p, c); d = dot(v, p, d);
      p = v128.load32_splat(x, 24); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 28); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 2, constants); v = place(t, 2, constants); p = v128.load32_splat(x, 32);
      a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 36); c = dot(u, p, c); d = dot(v, p, d);
      p = v128.load32_splat(x, 40); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 44); g = dot(u, p, g); h = dot(v, p, h);
      u = place(s, 3, constants); v = place(t, 3, constants); p = v128.load32_splat(x, 48);
      a = dot(u, p, a); b = dot(v, p, b); p = v128.load32_splat(x, 52); c = dot(u, p, c); d = dot(v, p, d);
      p = v128.load32_splat(x, 56); e = dot(u, p, e); f = dot(v, p, f);
      p = v128.load32_splat(x, 60); g = dot(u, p, g); h = dot(v, p, h);
      w += 32;
    }
    const lows = low(true, w - 128, constants), highs = high(true, w - 128, constants);
    let scale = v128.load32_splat(settings); A = add(true, a, lows, scale, A); B = add(true, b, highs, scale, B);
    scale = v128.load32_splat(settings, 4); C = add(true, c, lows, scale, C); D = add(true, d, highs, scale, D);
    scale = v128.load32_splat(settings, 8); E = add(true, e, lows, scale, E); F = add(true, f, highs, scale, F);
    scale = v128.load32_splat(settings, 12); G = add(true, g, lows, scale, G); H = add(true, h, highs, scale, H);
    w += 16;
    settings += 32;
  }
  put(y, A, B, C, D, E, F, G, H);
}
