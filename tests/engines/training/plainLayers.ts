import type { Dimensions } from "../../../engines/families/dimensions.ts";
import { familyOf } from "../../../engines/families/families.ts";
import type { AttentionHeads, AttentionScores, Layers } from "../../../engines/families/layers.ts";
import { ropeTables } from "../../../engines/families/rope.ts";

/** Numbers of a tensor, and their gradient where it is trained. */
export interface Parameter {
  data: ArrayLike<number>;
  grad?: Float64Array | undefined;
}

/** A row for each token, and its gradient. */
export interface Rows {
  rows: number[][];
  grads: number[][];
}

interface Options {
  tokens: readonly number[];
  /** Positions whose next token is wanted. */
  selected: readonly number[];
  epsilon: number;
  /** Whether norms multiply by 1 + weight. */
  hasCenteredNorms?: boolean;
  parameter: (name: string) => Parameter | undefined;
  /** Of LoRA; 0 without. */
  scale: number;
}

/**
 * The operations of every family on plain arrays, for one sequence.
 * @returns the selected positions' logits, and a function that takes their gradients back
 */
export function runPlainly(
  d: Dimensions,
  tokens: readonly number[],
  selected: readonly number[],
  options: Pick<Options, "parameter" | "scale">,
): { logits: number[][]; backward: (grads: readonly number[][]) => void } {
  const { hasCenteredNorms = false, build } = familyOf(d);
  const { epsilon } = d;
  const plain = createPlainLayers({ ...options, tokens, selected, epsilon, hasCenteredNorms });
  build(plain.layers, d);
  const logits = plain.logits();
  return {
    logits: logits.rows,
    backward: (of) => plain.backward(logits, of),
  };
}

/** Operations that remember how to take gradients back. */
export function createPlainLayers({
  tokens,
  selected,
  epsilon,
  hasCenteredNorms = false,
  parameter,
  scale,
}: Options) {
  const backs: (() => void)[] = [];
  let logits: Rows | undefined;

  /** A result, whose `back` adds to the gradients of what it was made of. */
  function made(rows: number[][], back: (grads: number[][]) => void): Rows {
    const grads = rows.map((row) => row.map(() => 0));
    backs.push(() => back(grads));
    return { rows, grads };
  }

  /** y[t] = x[t]·Wᵀ, times a factor. */
  function product(x: Rows, w: Parameter, out: number, factor = 1): Rows {
    const inner = x.rows[0]?.length ?? 0;
    const rows = x.rows.map((row) =>
      range(out).map((o) => factor * sum(row.map((value, i) => value * w.data[o * inner + i]!))),
    );
    return made(rows, (grads) =>
      grads.forEach((grad, t) =>
        grad.forEach((value, o) => {
          for (let i = 0; i < inner; i++) {
            x.grads[t]![i]! += factor * value * w.data[o * inner + i]!;
            if (w.grad) w.grad[o * inner + i]! += factor * value * x.rows[t]![i]!;
          }
        }),
      ),
    );
  }

  function add(to: Rows, other: Rows): Rows {
    const rows = to.rows.map((row, t) => row.map((value, i) => value + other.rows[t]![i]!));
    return made(rows, (grads) => [to, other].forEach((one) => addTo(one, 0, grads)));
  }

  /** Columns of several, side by side. */
  function beside(parts: readonly Rows[]): Rows {
    const rows = range(parts[0]?.rows.length ?? 0).map((t) => parts.flatMap((one) => one.rows[t]!));
    return made(rows, (grads) => {
      let from = 0;
      for (const part of parts) {
        const width = part.rows[0]?.length ?? 0;
        addTo(
          part,
          0,
          grads.map((grad) => grad.slice(from, from + width)),
        );
        from += width;
      }
    });
  }

  /** Some columns as a function of their own values. */
  function columns(x: Rows, from: number, width: number): Rows {
    const rows = x.rows.map((row) => row.slice(from, from + width));
    return made(rows, (grads) => addTo(x, from, grads));
  }

  function norm(x: Rows, name: string): Rows {
    const weight = parameter(name)!;
    const by = Array.from(weight.data, (value) => value + (hasCenteredNorms ? 1 : 0));
    const scales = x.rows.map(
      (row) => 1 / Math.sqrt(sum(row.map((value) => value * value)) / row.length + epsilon),
    );
    const rows = x.rows.map((row, t) => row.map((value, i) => value * scales[t]! * by[i]!));
    return made(rows, (grads) =>
      grads.forEach((grad, t) => {
        const [row, r] = [x.rows[t]!, scales[t]!];
        const weighted = grad.map((value, i) => value * by[i]!);
        const mean = (sum(weighted.map((value, i) => value * row[i]!)) * r * r) / row.length;
        row.forEach((value, i) => {
          x.grads[t]![i]! += r * (weighted[i]! - value * mean);
          if (weight.grad) weight.grad[i]! += grad[i]! * value * r;
        });
      }),
    );
  }

  const eachHead = ({ heads, kvHeads, headDim }: AttentionHeads, x: Rows) =>
    range(heads + 2 * kvHeads).map((head) => columns(x, head * headDim, headDim));

  function rotated(x: Rows, { cosines, sines }: ReturnType<typeof ropeTables>): Rows {
    const half = (x.rows[0]?.length ?? 0) / 2;
    const turn = (row: readonly number[], t: number, sign: number) =>
      row.map((value, i) => {
        const [at, partner] = [t * half + (i % half), i < half ? -row[i + half]! : row[i - half]!];
        return value * cosines[at]! + sign * partner * sines[at]!;
      });
    const rows = x.rows.map((row, t) => turn(row, t, 1));
    return made(rows, (grads) =>
      addTo(
        x,
        0,
        grads.map((grad, t) => turn(grad, t, -1)),
      ),
    );
  }

  /** One head: softmax(q·kᵀ/√queryScalar)·v, causal. */
  function attend(q: Rows, k: Rows, v: Rows, { queryScalar, window }: AttentionScores): Rows {
    const factor = 1 / Math.sqrt(queryScalar);
    const isSeen = (t: number, s: number) => window === undefined || t - s < window;
    const probabilities = q.rows.map((row, t) =>
      softmax(
        k.rows.slice(0, t + 1).map((key, s) => (isSeen(t, s) ? factor * dot(row, key) : -Infinity)),
      ),
    );
    const rows = probabilities.map((of) =>
      v.rows[0]!.map((_, i) => sum(of.map((p, s) => p * v.rows[s]![i]!))),
    );
    return made(rows, (grads) =>
      grads.forEach((grad, t) => {
        const of = probabilities[t]!;
        const back = of.map((_, s) => dot(grad, v.rows[s]!));
        const mean = dot(of, back);
        of.forEach((p, s) => {
          const score = factor * p * (back[s]! - mean);
          addRow(v.grads[s]!, grad, p);
          addRow(q.grads[t]!, k.rows[s]!, score);
          addRow(k.grads[s]!, q.rows[t]!, score);
        });
      }),
    );
  }

  function gated(gateUp: Rows, activation: Activation): Rows {
    const width = (gateUp.rows[0]?.length ?? 0) / 2;
    const rows = gateUp.rows.map((row) =>
      range(width).map((i) => activation(row[i]!).value * row[i + width]!),
    );
    return made(rows, (grads) =>
      grads.forEach((grad, t) =>
        grad.forEach((of, i) => {
          const [gate, up] = [gateUp.rows[t]![i]!, gateUp.rows[t]![i + width]!];
          const { value, slope } = activation(gate);
          gateUp.grads[t]![i]! += of * up * slope;
          gateUp.grads[t]![i + width]! += of * value;
        }),
      ),
    );
  }

  const layers: Layers<Rows> = {
    embedding(name, _, width, factor = 1) {
      const table = parameter(name)!;
      const rows = tokens.map((token) =>
        range(width).map((i) => factor * table.data[token * width + i]!),
      );
      return made(rows, (grads) =>
        grads.forEach((grad, t) =>
          grad.forEach((value, i) => {
            if (table.grad) table.grad[tokens[t]! * width + i]! += factor * value;
          }),
        ),
      );
    },
    norm(x, name, residual) {
      const y = norm(x, name);
      return residual ? add(residual, y) : y;
    },
    linear(x, maps, residual) {
      const results = maps.map(({ name, out, hasBias }) => {
        let y = product(x, parameter(`${name}.weight`)!, out);
        const [a, b] = ["A", "B"].map((part) => parameter(`${name}.lora_${part}.weight`));
        if (a && b) {
          const r = a.data.length / (x.rows[0]?.length ?? 1);
          y = add(y, product(product(x, a, r), b, out, scale));
        }
        if (!hasBias) return y;
        const ones = { rows: x.rows.map(() => [1]), grads: x.rows.map(() => [0]) };
        return add(y, product(ones, parameter(`${name}.bias`)!, out));
      });
      const y = beside(results);
      return residual ? add(residual, y) : y;
    },
    headNorm(qkv, heads, { q, k }) {
      const names = [...range(heads.heads).map(() => q), ...range(heads.kvHeads).map(() => k)];
      return beside(eachHead(heads, qkv).map((x, i) => (names[i] ? norm(x, names[i]) : x)));
    },
    rope(qkv, heads, rope) {
      const angles = ropeTables(rope, heads.headDim, tokens.length);
      const turning = heads.heads + heads.kvHeads;
      return beside(eachHead(heads, qkv).map((x, i) => (i < turning ? rotated(x, angles) : x)));
    },
    attention(qkv, { heads, kvHeads, headDim }, scores) {
      const all = eachHead({ heads, kvHeads, headDim }, qkv);
      const shared = heads / kvHeads;
      return beside(
        range(heads).map((head) => {
          const key = heads + Math.floor(head / shared);
          return attend(all[head]!, all[key]!, all[key + kvHeads]!, scores);
        }),
      );
    },
    swiglu: (gateUp) => gated(gateUp, silu),
    geglu: (gateUp) => gated(gateUp, gelu),
    select(x) {
      const rows = selected.map((t) => x.rows[t]!);
      return made(rows, (grads) =>
        grads.forEach((grad, i) => addRow(x.grads[selected[i]!]!, grad)),
      );
    },
    head(x, name, vocabulary) {
      logits = product(x, parameter(name)!, vocabulary);
    },
  };

  return {
    layers,
    /** What an operation reads. */
    input: (rows: number[][]) => made(rows, () => {}),
    logits(): Rows {
      if (!logits) throw new Error("the model has no head");
      return logits;
    },
    /** Takes a result's gradients back to all that it was made of. */
    backward({ grads }: Rows, of: readonly number[][]): void {
      of.forEach((grad, t) => addRow(grads[t]!, grad));
      for (const back of backs.toReversed()) back();
    },
  };
}

type Activation = (x: number) => { value: number; slope: number };

const silu: Activation = (x) => {
  const s = 1 / (1 + Math.exp(-x));
  return { value: x * s, slope: s * (1 + x * (1 - s)) };
};

/** By its approximation with tanh. */
const gelu: Activation = (x) => {
  const [factor, cubic] = [Math.sqrt(2 / Math.PI), 0.044715];
  const tanh = Math.tanh(factor * (x + cubic * x ** 3));
  const rise = factor * (1 + 3 * cubic * x * x) * (1 - tanh * tanh);
  return { value: 0.5 * x * (1 + tanh), slope: 0.5 * (1 + tanh + x * rise) };
};

export function softmax(values: readonly number[]): number[] {
  const highest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - highest));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

function addTo(to: Rows, from: number, grads: readonly number[][]): void {
  grads.forEach((grad, t) => grad.forEach((value, i) => (to.grads[t]![from + i]! += value)));
}

function addRow(to: number[], row: readonly number[], factor = 1): void {
  row.forEach((value, i) => (to[i]! += factor * value));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return sum(a.map((value, i) => value * b[i]!));
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
