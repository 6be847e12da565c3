import { expect, it } from "vitest";
import { type Resources, capacityWarning } from "../../../engines/ray/assertReady.ts";
import { createCluster } from "../../../engines/ray/cluster.ts";
import type { RayOptions } from "../../../protocol/engineOptions.ts";

const lack = (options: RayOptions, nodes: Resources[]) =>
  capacityWarning(createCluster(options, {}), nodes)?.replace(/ each\).*/, "");

it("finds room for workers node by node, whole ones and parts", () => {
  const nodes = [{ CPU: 8, GPU: 1, memory: 10 }, { CPU: 4 }];
  expect(lack({ workers: 12 }, nodes)).toBeUndefined();
  expect(lack({ workers: 13 }, nodes)).toBe(
    "warning: the cluster has room for 12 of 13 workers (1 CPU",
  );
  expect(lack({ workers: 2, cpusPerWorker: 6 }, nodes)).toContain(" 1 of 2 workers (6 CPUs");
  expect(lack({ workers: 8, gpusPerWorker: 0.1, cpusPerWorker: 0 }, nodes)).toBeUndefined();
  expect(lack({ workers: 10, gpusPerWorker: 0.1, cpusPerWorker: 0 }, nodes)).toBeUndefined();
  expect(lack({ workers: 2, gpusPerWorker: 1 }, nodes)).toContain(
    " 1 of 2 workers (1 CPU and 1 GPU",
  );
  expect(lack({}, [{}])).toContain(" room for 0 of 1 worker ");
  expect(lack({}, [{ CPU: "many" }])).toContain(" room for 0 of 1 worker ");
});
