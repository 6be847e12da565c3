import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { RENEWAL_MS, SILENCE_MS, createLeaseWatch, holdLease } from "../../jobs/lease.ts";
import { describeOwner } from "../../jobs/owner.ts";
import { spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";

/** A lease of an owner in another container, and a reader whose clock we turn. */
function foreignLease() {
  const directory = createProject();
  const owner = { ...describeOwner(), pidNamespace: "pid:[1]" };
  let renewal = 0;
  let now = 0;
  const renew = () =>
    writeFileSync(join(directory, "lease.json"), JSON.stringify({ owner, renewal: renewal++ }));
  renew();
  const watch = createLeaseWatch(() => now);
  return {
    directory,
    watch,
    renew,
    check: () => watch.check("id", directory),
    pass: (ms: number) => void (now += ms),
  };
}

test("a lease that is renewed is held, however long it takes", () => {
  const { check, pass, renew } = foreignLease();
  for (let n = 0; n < 10; n++) {
    expect(check()).toBe("held");
    pass(SILENCE_MS - 1);
    expect(check()).toBe("held");
    renew();
  }
});

test("a lease that stands still for 60 s on the reader's clock is silent, and heals", () => {
  const { check, pass, renew } = foreignLease();
  expect(SILENCE_MS).toBe(60_000);
  expect(check()).toBe("held");
  pass(60_000);
  expect(check()).toBe("held");
  pass(1);
  expect(check()).toBe("silent");
  renew();
  expect(check()).toBe("held");
  pass(60_001);
  expect(check()).toBe("silent");
});

test("a reader that looks for the first time gives an old lease 60 s", () => {
  const { check, pass } = foreignLease();
  pass(1_000_000);
  expect(check()).toBe("held");
});

test("a lease that was forgotten is looked at anew", () => {
  const { check, pass, watch } = foreignLease();
  check();
  pass(60_001);
  watch.forget("id");
  expect(check()).toBe("held");
});

test("an owner that is killed on this machine is gone at once", async () => {
  const directory = createProject();
  const sleeper = spawnProcess("sleep", ["60"]);
  const lease = { owner: describeOwner(sleeper.pid), renewal: 0 };
  writeFileSync(join(directory, "lease.json"), JSON.stringify(lease));
  const watch = createLeaseWatch(() => 0);
  expect(watch.check("id", directory)).toBe("held");
  await sleeper.kill();
  expect(watch.check("id", directory)).toBe("gone");
});

test.each([undefined, "", "{", "null", "7", "{}"])("a lease file of %j means gone", (content) => {
  const { directory, check } = foreignLease();
  const path = join(directory, "lease.json");
  if (content === undefined) rmSync(path);
  else writeFileSync(path, content);
  expect(check()).toBe("gone");
});

test("holding a lease renews it every few seconds, until it is released", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const directory = createProject();
  const renewal = () =>
    (JSON.parse(readFileSync(join(directory, "lease.json"), "utf8")) as { renewal: number })
      .renewal;
  const lease = holdLease(directory);
  expect(renewal()).toBe(0);
  vi.advanceTimersByTime(3 * RENEWAL_MS);
  expect(renewal()).toBe(3);
  lease.release();
  lease.release();
  vi.advanceTimersByTime(3 * RENEWAL_MS);
  expect(renewal()).toBe(3);
});

test("a lease that cannot be renewed harms its holder in no way", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const directory = createProject();
  const lease = holdLease(directory);
  rmSync(directory, { recursive: true });
  vi.advanceTimersByTime(RENEWAL_MS);
  lease.release();
});
