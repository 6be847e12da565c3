import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { MAX_GAP_MS, RENEWAL_MS, holdLease } from "../../disk/lease.ts";
import { describeOwner } from "../../disk/owner.ts";
import { MISSING_MS, SILENCE_MS, watchOwner } from "../../jobs/ownerWatch.ts";
import { spawnModule, spawnProcess } from "../process.ts";
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
  const look = watchOwner(directory, () => now);
  return {
    directory,
    renew,
    check: () => look().lease,
    /** Lets time pass for a reader that looks every now and then. */
    pass: (ms: number) => {
      const end = now + ms;
      for (now += MAX_GAP_MS; now < end; now += MAX_GAP_MS) look();
      now = end;
    },
    /** Lets time pass in which the reader itself stands still. */
    stop: (ms: number) => void (now += ms),
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

test("an owner that is proven to be alive holds its lease, however long it stands still", async () => {
  const { directory, check, pass } = foreignLease();
  const path = join(directory, "lease.json");
  const sleeper = spawnProcess("sleep", ["60"]);
  const owner = describeOwner(sleeper.pid);
  writeFileSync(path, JSON.stringify({ owner, renewal: 0 }));
  check();
  pass(10 * SILENCE_MS);
  expect(check()).toBe("held");
  // Without its start time, the pid may be another process's.
  writeFileSync(path, JSON.stringify({ owner: { ...owner, startTime: undefined }, renewal: 0 }));
  pass(SILENCE_MS + 1);
  expect(check()).toBe("silent");
  await sleeper.kill();
  expect(check()).toBe("gone");
});

test("a log that grows is a sign of life, too", () => {
  const { directory, check, pass } = foreignLease();
  const grow = () => appendFileSync(join(directory, "events.ndjson"), "{}\n");
  check();
  for (let n = 0; n < 3; n++) {
    pass(SILENCE_MS);
    grow();
    expect(check()).toBe("held");
  }
  pass(SILENCE_MS + 1);
  expect(check()).toBe("silent");
  grow();
  expect(check()).toBe("held");
});

test("a reader's first check gives an old lease 60 s", () => {
  const { check, stop } = foreignLease();
  stop(1_000_000);
  expect(check()).toBe("held");
});

test("a reader that was itself stopped does not count that time", () => {
  const { check, pass, stop, renew } = foreignLease();
  check();
  pass(SILENCE_MS - MAX_GAP_MS - 1);
  expect(check()).toBe("held");
  stop(1_000_000);
  expect(check()).toBe("held");
  pass(1);
  expect(check()).toBe("held");
  renew();
  expect(check()).toBe("held");
  stop(1_000_000);
  expect(check()).toBe("held");
  pass(SILENCE_MS);
  expect(check()).toBe("silent");
});

test("an owner that is killed on this machine is gone at once", async () => {
  const directory = createProject();
  const sleeper = spawnProcess("sleep", ["60"]);
  const lease = { owner: describeOwner(sleeper.pid), renewal: 0 };
  writeFileSync(join(directory, "lease.json"), JSON.stringify(lease));
  const watch = watchOwner(directory, () => 0);
  expect(watch().lease).toBe("held");
  await sleeper.kill();
  expect(watch().lease).toBe("gone");
});

const NO_LEASES = [undefined, "", "{", "null", "7", "{}"];

test.each(NO_LEASES)("a lease file of %j means gone when no renewal mends it", (content) => {
  for (const isKnown of [false, true]) {
    const { directory, check, pass, renew } = foreignLease();
    const path = join(directory, "lease.json");
    if (isKnown) check();
    if (content === undefined) rmSync(path);
    else writeFileSync(path, content);
    expect(check()).toBe("held");
    pass(MISSING_MS);
    expect(check()).toBe("held");
    pass(1);
    expect(check()).toBe("gone");
    renew();
    expect(check()).toBe("held");
  }
});

test("a lease that is missing for a moment is held, unless its owner is gone", async () => {
  const directory = createProject();
  const path = join(directory, "lease.json");
  const sleeper = spawnProcess("sleep", ["60"]);
  const watch = watchOwner(directory, () => 0);
  writeFileSync(path, JSON.stringify({ owner: describeOwner(sleeper.pid), renewal: 0 }));
  expect(watch().lease).toBe("held");
  rmSync(path);
  expect(watch().lease).toBe("held");
  await sleeper.kill();
  expect(watch().lease).toBe("gone");
});

test("a lease in a folder that was deleted is gone at once", () => {
  const { directory, check } = foreignLease();
  expect(check()).toBe("held");
  rmSync(directory, { recursive: true });
  expect(check()).toBe("gone");
});

test.each([{}, { pidNamespace: "pid:[1]" }])(
  "a reader that cannot open a file learns nothing of the owner: %o",
  async (elsewhere) => {
    const directory = createProject();
    const lease = { owner: { ...describeOwner(), ...elsewhere }, renewal: 0 };
    writeFileSync(join(directory, "lease.json"), JSON.stringify(lease));
    const reader = spawnModule(
      `const { openSync } = await import("node:fs");
     const { watchOwner } = await dist("jobs/ownerWatch.js");
     let now = 0;
     const watch = watchOwner(process.argv[1], () => now);
     const states = [];
     const check = (count) => {
       for (let n = 0; n < count; n++, now += 5_000) states.push(watch().lease);
     };
     check(1);
     try { for (;;) openSync("/dev/null"); } catch (error) { states.push(error.code); }
     check(30);
     console.log([...new Set(states)].join(" "));`,
      [directory],
      "ulimit -n 64",
    );
    expect(await reader.line()).toBe("held EMFILE");
  },
);

test("holding a lease renews it every few seconds, until it is released", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const directory = createProject();
  const renewal = () =>
    (JSON.parse(readFileSync(join(directory, "lease.json"), "utf8")) as { renewal: number })
      .renewal;
  const lease = holdLease(join(directory, "lease.json"), {});
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
  const lease = holdLease(join(directory, "lease.json"), {});
  rmSync(directory, { recursive: true });
  vi.advanceTimersByTime(RENEWAL_MS);
  lease.release();
});
