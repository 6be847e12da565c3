import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements } from "../device/dispatch.ts";
import { gatedUnitBack, gatedUnit as gatedUnitKernel } from "../kernels/elements.ts";
import { type Activation, type Graph, kindIndex } from "./operation.ts";

/** y = activation(gate) · up, with gate and up concatenated. */
export function gatedUnit(graph: Graph, gateUp: Activation, kind: "swiglu" | "geglu"): Activation {
  const width = gateUp.width / 2;
  const y = graph.activation(gateUp.rows, width, { isCheap: true });
  const params = { kind: kindIndex(gateUp.rows), width };
  const x = wholeSlice(gateUp.array);
  const grid: Dispatch["grid"] = (batch) => elements(batch[gateUp.rows] * width);
  const forward = [dispatch(gatedUnitKernel(kind), params, { x, y: wholeSlice(y.array) }, grid)];
  graph.add({
    forward,
    recompute: forward,
    backward: () => [
      dispatch(
        gatedUnitBack(kind),
        params,
        { x, dy: wholeSlice(y.grad), dx: wholeSlice(gateUp.grad) },
        grid,
      ),
    ],
  });
  return y;
}
