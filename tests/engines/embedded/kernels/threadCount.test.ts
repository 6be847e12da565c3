import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test, vi } from "vitest";
import { quota, threadCount } from "../../../../engines/embedded/kernels/threadCount.ts";
import { limitCpu } from "../../../cpuLimit.ts";

test("there are as many threads as cores, less one when there are more than four", () => {
  vi.stubEnv("KIT_THREADS", undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect([1, 2, 4, 5, 16].map((cores) => threadCount(undefined, cores))).toEqual([1, 2, 4, 4, 15]);
  expect(threadCount("", 2)).toBe(2);
});

test("KIT_THREADS decides, whatever the machine has", () => {
  expect([threadCount("1", 16), threadCount("3", 1)]).toEqual([1, 3]);
  for (const wrong of ["0", "1.5", "many", "65", "0x2", "1e0", "2 "]) {
    expect(() => threadCount(wrong, 2)).toThrow(`not "${wrong}"`);
  }
});

test("a container's limit counts in whole cores, in both versions of cgroups", () => {
  const files = (contents: Record<string, string>) => (file: string) => contents[file] ?? "";
  const second = (text: string) => quota(files({ "/sys/fs/cgroup/cpu.max": text }));
  expect(second("250000 100000")).toBe(2);
  expect(second("50000 100000")).toBe(1);
  expect(second("max 100000")).toBe(Infinity);
  const first = (limit: string) =>
    quota(
      files({
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": limit,
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
      }),
    );
  expect([first("300000"), first("-1")]).toEqual([3, Infinity]);
  expect(quota(files({}))).toBe(Infinity);
});

test("the lowest limit of all groups that a process is in counts, in both versions of cgroups", () => {
  const files = (contents: Record<string, string>) => (file: string) => contents[file] ?? "";
  const second = {
    "/proc/self/cgroup": "0::/user.slice/kit.service",
    "/sys/fs/cgroup/cpu.max": "800000 100000",
    "/sys/fs/cgroup/user.slice/cpu.max": "200000 100000",
    "/sys/fs/cgroup/user.slice/kit.service/cpu.max": "max 100000",
  };
  expect(quota(files(second))).toBe(2);
  const first = {
    "/proc/self/cgroup": "5:memory:/other\n4:cpu,cpuacct:/kit",
    "/sys/fs/cgroup/cpu/kit/cpu.cfs_quota_us": "300000",
    "/sys/fs/cgroup/cpu/kit/cpu.cfs_period_us": "100000",
    "/sys/fs/cgroup/cpu/other/cpu.cfs_quota_us": "100000",
    "/sys/fs/cgroup/cpu/other/cpu.cfs_period_us": "100000",
  };
  expect(quota(files(first))).toBe(3);
});

test.each([1, 1.5, undefined])(
  "in a real cgroup of %s cores, there is one thread for each whole one",
  (cores) => {
    const url = new URL(
      "../../../../dist/engines/embedded/kernels/threadCount.js",
      import.meta.url,
    );
    const code = `const { threadCount } = await import(${JSON.stringify(url.href)});
    console.log(threadCount())`;
    const within = cores === undefined ? [] : limitCpu(cores);
    const command = [...within, process.execPath, "--input-type=module", "-e", code];
    const { KIT_THREADS: _, ...env } = process.env;
    const printed = execFileSync(command[0] ?? "", command.slice(1), { env, encoding: "utf8" });
    expect(Number(printed)).toBe(cores === undefined ? threadCount("") : 1);
  },
);
