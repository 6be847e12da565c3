/** A parameter's type in WGSL. */
type Word = "u32" | "f32";
/** An array's elements. */
export type Element = Word | "vec2u" | "vec4f";

/** A compute shader with the names of its parameters and arrays. */
export interface Kernel<P extends string = string, A extends string = string> {
  name: string;
  /** Words of the uniform `p`. */
  params: Readonly<Record<P, Word>>;
  /** Arrays in the order of their bindings. */
  arrays: readonly { name: A; isWritten: boolean }[];
  code: string;
}

interface KernelSource<P extends string, R extends string, W extends string> {
  params: Record<P, Word>;
  /** Element types of the arrays that it only reads. */
  reads: Record<R, Element>;
  /** Element types of the arrays that it writes, and may read. */
  writes: Record<W, Element>;
  /** WGSL with a `main`. */
  code: string;
}

/** Threads of a workgroup; every GPU has as many. */
export const THREADS = 256;

/** Bindings before the arrays: `p` and `batch`. */
export const UNIFORMS = 2;

/** Creates a kernel from WGSL, in which `p` and the arrays are declared by their names. */
export function kernel<P extends string, R extends string, W extends string>(
  name: string,
  { params, reads, writes, code }: KernelSource<P, R, W>,
): Kernel<P, R | W> {
  const read = Object.entries<Element>(reads).map(([name, type]) => ({
    name,
    type,
    isWritten: false,
  }));
  const written = Object.entries<Element>(writes).map(([name, type]) => ({
    name,
    type,
    isWritten: true,
  }));
  const arrays = [...read, ...written];
  const words = Object.entries<Word>(params).map(([name, type]) => `${name}: ${type},`);
  const bindings = arrays.map(
    ({ name, type, isWritten }, i) =>
      `@group(0) @binding(${UNIFORMS + i}) var<storage, ${isWritten ? "read_write" : "read"}> ${name}: array<${type}>;`,
  );
  return {
    name,
    params,
    arrays: arrays.map(({ name, isWritten }) => ({ name: name as R | W, isWritten })),
    code: [`struct Params { ${words.join(" ")} }`, PRELUDE, ...bindings, code].join("\n"),
  };
}

const PRELUDE = `
@group(0) @binding(0) var<uniform> p: Params;
/** Tokens, selected tokens, different tokens. */
@group(0) @binding(1) var<uniform> batch: vec3u;

/** Index of a workgroup in a grid of two dimensions. */
fn workgroupIndex(id: vec3u, count: vec3u) -> u32 { return id.y * count.x + id.x; }
`;

/** WGSL: `rowSum`, the sum of a value of each thread of a row's workgroup. */
export const rowSum = (threads = THREADS) => `
var<workgroup> partials: array<f32, ${threads}>;

fn rowSum(value: f32, i: u32) -> f32 {
  workgroupBarrier();
  partials[i] = value;
  for (var half = ${threads / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (i < half) { partials[i] += partials[i + half]; }
  }
  workgroupBarrier();
  return partials[0];
}
`;
