import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";

/** The machine in a line: processor, cores, memory, system, Node, how busy it has been of late. */
export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() || "unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${processors.length} cores, ${memory} GiB of memory, ${systemName()}, Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(1)}`;
}

function systemName(): string {
  const path = "/etc/os-release";
  const known = existsSync(path) ? /^PRETTY_NAME="(.*)"$/m.exec(readFileSync(path, "utf8")) : null;
  return `${known ? `${known[1]} on ` : ""}${type()} ${release()}`;
}
