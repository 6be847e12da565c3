import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements, workgroups } from "../device/dispatch.ts";
import { clear } from "../kernels/elements.ts";
import { embed, embedBack } from "../kernels/embedding.ts";
import type { Activation, Graph, MatrixWeight } from "./operation.ts";

interface Table {
  vocabulary: number;
  width: number;
  factor: number;
  /** Whether the head has already written its gradient. */
  isTied: boolean;
}

/** x[t, :] = factor · table[tokens[t], :]. */
export function embedding(
  graph: Graph,
  table: string,
  { vocabulary, width, factor, isTied }: Table,
): Activation {
  const weight = graph.matrix({ [table]: vocabulary }, width);
  const x = graph.activation("tokens", width, { isResidual: true });
  const { tokens, order, groups } = graph.batch;
  const indices = { tokens: wholeSlice(tokens) };
  graph.add({
    forward: weight.parts.map(({ first, rows, weights, scales }) =>
      dispatch(
        embed(weight.type),
        { width, first, rows, factor, scales },
        { ...indices, w: weights, x: wholeSlice(x.array) },
        (batch) => elements(batch.tokens * width),
      ),
    ),
    backward: (adds) => [
      ...(isTied || adds ? [] : clearGradients(weight)),
      ...weight.parts.flatMap(({ first, rows, gradients }) =>
        gradients
          ? dispatch(
              embedBack,
              { width, first, rows, factor },
              {
                ...indices,
                order: wholeSlice(order),
                groups: wholeSlice(groups),
                dx: wholeSlice(x.grad),
                dw: gradients,
              },
              (batch) => workgroups(batch.distinct),
            )
          : [],
      ),
    ],
  });
  graph.endSegment();
  return x;
}

function clearGradients(weight: MatrixWeight): Dispatch[] {
  return weight.parts.flatMap(({ rows, gradients }) =>
    gradients
      ? dispatch(clear, { rows, width: weight.in }, { y: gradients }, () =>
          elements(rows * weight.in),
        )
      : [],
  );
}
