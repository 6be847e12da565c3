import { copyFileSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOwner, ownerState } from "../../jobs/owner.ts";
import { createProject } from "../project.ts";
import { spawnProcess } from "../process.ts";

test("our own process is alive", () => {
  expect(ownerState(describeOwner())).toBe("alive");
});

test("a process is alive, and gone as soon as it was killed", async () => {
  const sleeper = spawnProcess("sleep", ["60"]);
  const owner = describeOwner(sleeper.pid);
  expect(ownerState(owner)).toBe("alive");
  await sleeper.kill();
  expect(ownerState(owner)).toBe("gone");
});

test("a process that ended and that nobody has waited for is gone", async () => {
  const parent = spawnProcess("sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"]);
  const zombie = Number(await parent.line());
  const owner = describeOwner(zombie);
  await expect.poll(() => ownerState(owner)).toBe("gone");
  // Its pid is still taken.
  expect(process.kill(zombie, 0)).toBe(true);
});

test("a pid that another process got is not the owner", () => {
  expect(ownerState({ ...describeOwner(), startTime: "1" })).toBe("gone");
});

test.each([{ bootId: "another" }, { pidNamespace: "pid:[1]" }, { host: "another" }])(
  "an owner out of our sight is unknown, whatever runs under its pid here: %o",
  async (elsewhere) => {
    const sleeper = spawnProcess("sleep", ["60"]);
    const owner = { ...describeOwner(sleeper.pid), ...elsewhere };
    expect(ownerState(owner)).toBe("unknown");
    await sleeper.kill();
    expect(ownerState(owner)).toBe("unknown");
  },
);

test("a program's name may hold brackets and spaces", () => {
  const program = join(createProject(), "a) Z 1 (b");
  copyFileSync("/bin/sleep", program);
  chmodSync(program, 0o755);
  const owner = describeOwner(spawnProcess(program, ["60"]).pid);
  expect(owner.startTime).toMatch(/^\d{2,}$/);
  expect(ownerState(owner)).toBe("alive");
});
