import type { LinearLayer } from "../../families/layers.ts";
import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements, workgroups } from "../device/dispatch.ts";
import { addBias } from "../kernels/elements.ts";
import { SUM_COLUMNS, biasBack } from "../kernels/norm.ts";
import {
  allRows,
  columnsFrom,
  linear as multiply,
  linearBack,
  rowsOf,
  weightBack,
} from "./matmuls.ts";
import { type Activation, type Graph, kindIndex } from "./operation.ts";

/**
 * Adjacent linear layers of one input, each with its bias and LoRA update:
 * y = residual + x·Wᵀ + scale · (x·Aᵀ)·Bᵀ + bias.
 */
export function linear(
  graph: Graph,
  x: Activation,
  linears: readonly LinearLayer[],
  residual?: Activation,
): Activation {
  const weight = graph.matrix(
    Object.fromEntries(linears.map(({ name, out }) => [`${name}.weight`, out])),
    x.width,
  );
  const range = allRows(x.rows);
  const input = rowsOf(x.array, x.width);
  const biases = planBiases(graph, linears);
  const adapter = planAdapter(graph, x, linears);
  const y = residual ? graph.residual(residual) : graph.activation(x.rows, weight.out);
  const output = rowsOf(y.array, weight.out);
  const grad = rowsOf(y.grad, weight.out);
  const dx = rowsOf(x.grad, x.width);

  graph.add({
    forward: [
      ...multiply(graph, { range, w: weight, x: input, y: output, adds: residual?.array }),
      ...biases.map(({ from, out, weights }) =>
        dispatch(
          addBias,
          { kind: kindIndex(x.rows), width: out, row: weight.out, start: from },
          { bias: weights, y: wholeSlice(y.array) },
          (batch) => elements(batch[x.rows] * out),
        ),
      ),
      ...ofAdapter(adapter, ({ a, parts, z, scale }) => [
        ...multiply(graph, { range, w: a, x: input, y: z }),
        ...parts.flatMap(({ b, from, at }) => {
          const [x, y] = [columnsFrom(z, at), columnsFrom(output, from)];
          return multiply(graph, { range, w: b, x, y, adds: "itself", alpha: scale });
        }),
      ]),
    ],
    backward(isAdded) {
      const adds = isAdded ? "itself" : undefined;
      return [
        ...linearBack(graph, { range, w: weight, dy: grad, dx }),
        ...weightBack(graph, { range, w: weight, dy: grad, x: input, adds }),
        ...ofAdapter(adapter, ({ a, parts, z, dz, scale }) => [
          ...parts.flatMap(({ b, from, at }) => {
            const product = { range, w: b, dy: columnsFrom(grad, from), alpha: scale };
            return [
              ...linearBack(graph, { ...product, dx: columnsFrom(dz, at) }),
              ...weightBack(graph, { ...product, x: columnsFrom(z, at), adds }),
            ];
          }),
          ...weightBack(graph, { range, w: a, dy: dz, x: input, adds }),
          ...linearBack(graph, { range, w: a, dy: dz, dx, adds: "itself" }),
        ]),
        ...biases.flatMap(({ from, out, gradients }) =>
          gradients
            ? dispatch(
                biasBack,
                {
                  kind: kindIndex(x.rows),
                  width: out,
                  row: weight.out,
                  start: from,
                  adds: Number(isAdded),
                },
                { dy: wholeSlice(y.grad), dw: gradients },
                () => workgroups(Math.ceil(out / SUM_COLUMNS)),
              )
            : [],
        ),
      ];
    },
  });
  if (residual) graph.endSegment();
  return y;
}

function planBiases(graph: Graph, linears: readonly LinearLayer[]) {
  let next = 0;
  return linears.flatMap(({ name, out, hasBias }) => {
    const from = next;
    next += out;
    return hasBias ? { ...graph.vector(`${name}.bias`, out), from, out } : [];
  });
}

/** The layers' LoRA updates, with memory for z = x·Aᵀ and its gradient. */
function planAdapter(graph: Graph, x: Activation, linears: readonly LinearLayer[]) {
  const updates = graph.lora(linears, x.width);
  if (!updates) return undefined;
  const { a, b, scale } = updates;
  const count = graph.limits[x.rows] * a.out;
  let [from, at] = [0, 0];
  const parts = linears.flatMap(({ out }, i) => {
    const part = { b: b[i]!, from, at };
    from += out;
    if (!b[i]) return [];
    at += b[i].in;
    return part;
  });
  const z = rowsOf(graph.saved(count, { isSmall: true }), a.out);
  return { a, parts, z, dz: rowsOf(graph.scratch(count), a.out), scale };
}

type Adapter = NonNullable<ReturnType<typeof planAdapter>>;

function ofAdapter(
  adapter: Adapter | undefined,
  calls: (adapter: Adapter) => Dispatch[],
): Dispatch[] {
  return adapter ? calls(adapter).map((call) => ({ ...call, isAdapter: true })) : [];
}
