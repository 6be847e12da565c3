import type { Dispatch, Grid } from "../../../../engines/webgpu/device/dispatch.ts";

/** Makes another call of one. */
export type Change = (call: Dispatch) => Dispatch;

export const unchanged: Change = (call) => call;

/** Threads of a workgroup that shares no memory, instead of 256. */
const FEW = 64;

/**
 * The same call with its threads and workgroups in another order; with small workgroups where none shares memory, as a
 * sum in shared memory depends on the number of its threads; and with more workgroups where a large count has some too
 * many.
 */
export const shuffled: Change = ({ kernel, grid, ...call }) => {
  const { code } = kernel;
  const isFree = !code.includes("var<workgroup>");
  const sized = code.replaceAll(/\b256u/g, `${FEW}u`).replace("size(256)", `size(${FEW})`);
  const more = code.includes("workgroupIndex(id, count)") ? 1 : 0;
  return {
    ...call,
    kernel: { ...kernel, name: `${kernel.name} shuffled`, code: reordered(isFree ? sized : code) },
    grid(batch): Grid {
      const [x, y, z] = grid(batch);
      return [isFree ? (x * 256) / FEW : x, y && y + more, z];
    },
  };
};

function reordered(code: string): string {
  const [, x = "", y = "1"] = /@workgroup_size\((\d+)(?:, (\d+))?\)/.exec(code) ?? [];
  const [signature = "", parameters = ""] = /fn main\(([^{]*?),?\s*\) \{/.exec(code) ?? [];
  const [, id = ""] = /workgroup_id\) (\w+)/.exec(parameters) ?? [];
  const count = parameters.includes("num_workgroups")
    ? ""
    : ", @builtin(num_workgroups) count: vec3u";
  const renamed = parameters
    .replace(`workgroup_id) ${id}:`, "workgroup_id) id_:")
    .replace("index) i:", "index) i_:")
    .replace(/\s*@builtin\(local_invocation_id\) l: vec3u,/, "");
  const threads = Number(x) * Number(y);
  const lines = [
    ...(id ? [`let ${id} = count - vec3u(1u) - id_;`] : []),
    // An odd factor, so that every thread is somebody's.
    `let i = (i_ * 77u + ${threads / 2}u) % ${threads}u;`,
    ...(parameters.includes(" l:") ? [`let l = vec3u(i % ${x}u, i / ${x}u, 0u);`] : []),
  ];
  return code.replace(signature, `fn main(${renamed}${count}) {\n${lines.join("\n")}`);
}
