import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type, version } from "node:os";

/** Processor, cores, memory, system, kernel, Node, and a setting that slows Node's start. */
export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() || "unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  const kernel = `kernel ${type()} ${release()}`;
  const slowed = process.env["NODE_EXTRA_CA_CERTS"] ? ", NODE_EXTRA_CA_CERTS is set" : "";
  return `${model}, ${processors.length} cores, ${memory} GiB of memory, ${systemName()}, ${kernel}, Node ${process.versions.node}${slowed}`;
}

/** Load average of the last minute. */
export function load(): string {
  return (loadavg()[0] ?? NaN).toFixed(1);
}

/** Peak memory of a process so far, in MB. */
export function peakMemory(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kib) * 1024) / 1e6;
}

/** Linux counts a process's time in ticks of 10 ms. */
const TICK_MS = 10;

/** Processor time of a process and its finished children. */
export function processMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
}

function systemName(): string {
  const path = "/etc/os-release";
  const known = existsSync(path) ? /^PRETTY_NAME="(.*)"$/m.exec(readFileSync(path, "utf8")) : null;
  return known?.[1] ?? `${process.platform} ${version()}`;
}
