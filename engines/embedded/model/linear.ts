import { type Matrix, type Rows, createProducts } from "../kernels/operations.ts";
import type { Thread } from "../kernels/team.ts";
import { type LinearMap, columnsFrom, rowsAt } from "./model.ts";

/**
 * A linear map with the updates of an adapter: y = added + x·Wᵀ + scale · (x·Aᵀ)·Bᵀ + bias, and its
 * way back. x, y and what is added are read and written after a meeting.
 */
export function createLinear(thread: Thread, n: number, scale: number) {
  const products = createProducts(thread);

  function linear(map: LinearMap, x: Rows, y: Rows, added = 0) {
    products.linear(n, x, map.w, y, added);
    map.updates.forEach(({ from, a, b }, i) => {
      const z = rowsAt(map.reduced[i] ?? 0, a.out);
      const part = columnsFrom(y, from);
      products.linear(n, x, a, z);
      products.linear(n, z, b, part, part.at, scale);
    });
    if (map.bias === undefined) return;
    thread.kernels.meet();
    thread.kernels.addBias(n, map.w.out, map.bias, y.at, y.row);
  }

  /**
   * dx = dy·W + …, and the gradients of what is trained.
   * @param adds whether to the gradients that are there
   */
  function linearBack(
    map: LinearMap,
    x: Rows,
    dy: Rows,
    dx: Rows,
    dreduced: number,
    adds: boolean,
  ) {
    const to = (gradient: Matrix) => (adds ? gradient.at : 0);
    products.linearBack(n, dy, map.w, dx);
    if (map.dw) products.weightBack(n, dy, x, map.dw, to(map.dw));
    map.updates.forEach(({ from, a, b }, i) => {
      const gradient = map.dupdates[i];
      if (!gradient) throw new Error("an update has no gradient");
      const part = columnsFrom(dy, from);
      const dz = rowsAt(dreduced, a.out);
      products.linearBack(n, part, b, dz, 0, scale);
      const z = rowsAt(map.reduced[i] ?? 0, a.out);
      products.weightBack(n, part, z, gradient.b, to(gradient.b), scale);
      products.weightBack(n, dz, x, gradient.a, to(gradient.a));
      products.linearBack(n, dz, a, dx, dx.at);
    });
    if (map.dbias === undefined) return;
    thread.kernels.biasBack(n, map.w.out, dy.at, dy.row, map.dbias, adds ? map.dbias : 0);
  }

  return { linear, linearBack, products };
}
