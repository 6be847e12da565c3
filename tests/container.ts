import { execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { spawnProcess } from "./process.ts";
import { createProject } from "./project.ts";

const IP = process.env.IP_PATH ?? "/usr/sbin/ip";

/** A network of its own, as a container has one: ports, loopback, and a cable to this machine. */
export interface Container {
  /** Where this machine reaches it. */
  address: string;
  /** Turns into a program inside of it. */
  enter: string[];
}

/**
 * Made of a namespace and a pair of virtual devices, which go with the last process inside; so
 * nothing is left behind, however the test ends.
 */
export async function createContainer(): Promise<Container> {
  const inside = `${IP} link set lo up && echo up && exec cat`;
  const holder = spawnProcess("unshare", ["--net", "sh", "-c", inside]);
  if ((await holder.line()) !== "up") {
    throw new Error(
      "This test makes a network: run it as root, with CAP_SYS_ADMIN, CAP_NET_ADMIN.",
    );
  }
  const enter = ["nsenter", `--net=/proc/${holder.pid}/ns/net`];
  const device = `kit${randomBytes(4).toString("hex")}`;
  // Of the addresses that are kept for tests between networks.
  const net = `198.${randomInt(18, 20)}.${randomInt(256)}`;
  const last = randomInt(64) * 4;
  const ip = (line: string) => execFileSync(IP, line.split(" "));
  const ipInside = (line: string) => runInside(enter, IP, ...line.split(" "));
  ip(`link add ${device} type veth peer name eth0 netns ${holder.pid}`);
  onTestFinished(() => void ip(`link delete ${device}`));
  ip(`addr add ${net}.${last + 1}/30 dev ${device}`);
  ip(`link set ${device} up`);
  ipInside(`addr add ${net}.${last + 2}/30 dev eth0`);
  ipInside("link set eth0 up");
  return { address: `${net}.${last + 2}`, enter };
}

/** Takes an address from a container's loopback: `::1/128`, as where there is no IPv6. */
export function withoutLoopback({ enter }: Pick<Container, "enter">, address: string): void {
  runInside(enter, IP, "addr", "del", address, "dev", "lo");
}

/**
 * A program inside a container that leads to one of its loopback's ports, as an editor's does.
 * @returns the path of the socket that leads there
 */
export async function leadToLoopback({ enter }: Container, port: number): Promise<string> {
  const path = join(createProject(), "socket");
  const code = `const { connect, createServer } = require("node:net");
    createServer((near) => {
      const far = connect(${port}, "127.0.0.1");
      near.pipe(far).pipe(near);
      near.once("error", () => far.destroy());
      far.once("error", () => near.destroy());
    }).listen(${JSON.stringify(path)}, () => console.log("ready"));`;
  const [program = "", ...args] = [...enter, process.execPath, "-e", code];
  await spawnProcess(program, args).line();
  return path;
}

function runInside([program = "", ...args]: string[], ...command: string[]): void {
  execFileSync(program, [...args, ...command]);
}
