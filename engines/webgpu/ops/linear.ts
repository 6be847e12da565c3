import type { LinearLayer } from "../../families/layers.ts";
import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements, workgroups } from "../device/dispatch.ts";
import { addBias } from "../kernels/elements.ts";
import { SUM_COLUMNS, biasBack } from "../kernels/norm.ts";
import { allRows, linear as multiply, linearBack, rowsOf, weightBack } from "./matmuls.ts";
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
  const parts = planParts(graph, x, linears);
  const updates = parts.flatMap(({ update }) => update ?? []);
  const biases = parts.flatMap(({ bias }) => bias ?? []);
  const y = residual ? graph.residual(residual) : graph.activation(x.rows, weight.out);
  const output = rowsOf(y.array, weight.out);
  const dz = graph.scratch(graph.limits[x.rows] * Math.max(1, ...updates.map(({ a }) => a.out)));
  const grad = rowsOf(y.grad, weight.out);
  const dx = rowsOf(x.grad, x.width);

  graph.add({
    forward: [
      ...multiply(range, input, weight, output, { adds: residual?.array }),
      ...biases.map(({ from, out, weights }) =>
        dispatch(
          addBias,
          { kind: kindIndex(x.rows), width: out, row: weight.out, start: from },
          { bias: weights, y: wholeSlice(y.array) },
          (batch) => elements(batch[x.rows] * out),
        ),
      ),
      ...updates.flatMap(({ from, a, b, z, scale }) => {
        const columns = rowsOf(y.array, weight.out, from);
        return ofAdapter([
          ...multiply(range, input, a, z),
          ...multiply(range, z, b, columns, { adds: "itself", alpha: scale }),
        ]);
      }),
    ],
    backward(isAdded) {
      const adds = isAdded ? "itself" : undefined;
      return [
        ...linearBack(range, grad, weight, dx),
        ...weightBack(range, grad, input, weight, { adds }),
        ...updates.flatMap(({ from, a, b, z, scale }) => {
          const columns = rowsOf(y.grad, weight.out, from);
          const back = rowsOf(dz, a.out);
          return ofAdapter([
            ...linearBack(range, columns, b, back, { alpha: scale }),
            ...weightBack(range, columns, z, b, { adds, alpha: scale }),
            ...weightBack(range, back, input, a, { adds }),
            ...linearBack(range, back, a, dx, { adds: "itself" }),
          ]);
        }),
        ...biases.flatMap(({ from, out, gradients }) =>
          gradients
            ? dispatch(
                biasBack,
                {
                  kind: kindIndex(x.rows),
                  width: out,
                  yRow: weight.out,
                  yFrom: from,
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

/** Each layer's columns, with its bias and its update, and memory for z = x·Aᵀ. */
function planParts(graph: Graph, x: Activation, linears: readonly LinearLayer[]) {
  let next = 0;
  return linears.map(({ name, target, out, hasBias }) => {
    const from = next;
    next += out;
    const lora = graph.lora(name, target, out, x.width);
    const r = lora?.a.out ?? 0;
    const saved = () => graph.saved(graph.limits[x.rows] * r, { isSmall: true });
    return {
      bias: hasBias ? { ...graph.vector(`${name}.bias`, out), from, out } : undefined,
      update: lora && { ...lora, from, z: rowsOf(saved(), r) },
    };
  });
}

function ofAdapter(calls: Dispatch[]): Dispatch[] {
  return calls.map((call) => ({ ...call, isAdapter: true }));
}
