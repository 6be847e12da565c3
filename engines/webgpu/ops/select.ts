import { type DeviceArray, wholeSlice } from "../device/array.ts";
import { dispatch, elements } from "../device/dispatch.ts";
import { gather } from "../kernels/elements.ts";
import { type Activation, type Graph, type RowKind, kindIndex } from "./operation.ts";

/** Selects the positions whose next token is needed, for the operations that follow. */
export function select(graph: Graph, x: Activation): Activation {
  const { width } = x;
  const { selected, selectedIndex } = graph.batch;
  const y = graph.activation("selected", width);
  const rows = (kind: RowKind, indices: DeviceArray, from: DeviceArray, to: DeviceArray) =>
    dispatch(
      gather,
      { kind: kindIndex(kind), width },
      { x: wholeSlice(from), indices: wholeSlice(indices), y: wholeSlice(to) },
      (batch) => elements(batch[kind] * width),
    );
  graph.add({
    forward: [rows("selected", selected, x.array, y.array)],
    backward: () => [rows("tokens", selectedIndex, y.grad, x.grad)],
  });
  return y;
}
