import { copyFileSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { describeOwner, ownerState } from "../../disk/owner.ts";
import { spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";

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

test.each([{ bootId: "another" }, { pidNamespace: "pid:[1]" }])(
  "an owner out of our sight is unknown, whatever runs under its pid here: %o",
  async (elsewhere) => {
    const sleeper = spawnProcess("sleep", ["60"]);
    const owner = { ...describeOwner(sleeper.pid), ...elsewhere };
    expect(ownerState(owner)).toBe("unknown");
    await sleeper.kill();
    expect(ownerState(owner)).toBe("unknown");
  },
);

test("a machine that got another name is still the same", async () => {
  const sleeper = spawnProcess("sleep", ["60"]);
  const owner = { ...describeOwner(sleeper.pid), host: "another" };
  expect(ownerState(owner)).toBe("alive");
  await sleeper.kill();
  expect(ownerState(owner)).toBe("gone");
});

test("another user's process that /proc does not show is unknown, and gone when it has ended", async () => {
  const sleeper = spawnProcess("sleep", ["60"]);
  const dist = pathToFileURL(`${import.meta.dirname}/../../dist/disk/owner.js`).href;
  const look = `
    const { ownerState } = await import(process.argv[1]);
    process.setgroups([]);
    process.setgid(65534);
    process.setuid(65534);
    const { createInterface } = await import("node:readline");
    for await (const line of createInterface(process.stdin)) console.log(ownerState(JSON.parse(line)));`;
  const hidden = `mount -t proc -o hidepid=2 proc /proc && exec "$@"`;
  const node = [process.execPath, "--input-type=module", "-e", look, dist];
  const other = spawnProcess("unshare", ["--mount", "sh", "-c", hidden, "sh", ...node]);
  const owner = describeOwner(sleeper.pid);
  const stateThere = () => {
    other.child.stdin?.write(`${JSON.stringify(owner)}\n`);
    return other.line();
  };
  expect(await stateThere()).toBe("unknown");
  await sleeper.kill();
  expect(await stateThere()).toBe("gone");
});

test("a program's name may hold brackets and spaces", () => {
  const program = join(createProject(), "a) Z 1 (b");
  copyFileSync("/bin/sleep", program);
  chmodSync(program, 0o755);
  const owner = describeOwner(spawnProcess(program, ["60"]).pid);
  expect(owner.startTime).toMatch(/^\d{2,}$/);
  expect(ownerState(owner)).toBe("alive");
});
