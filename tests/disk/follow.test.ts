import { appendFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tailFile } from "../../disk/follow.ts";
import { disableWatch } from "../noWatch.ts";
import { createProject } from "../project.ts";

/** Collects what a follower gets until the test says that no more will come. */
function follow(path: string, from = 0) {
  let isOver = false;
  const chunks: Buffer[] = [];
  const waiting: { length: number; resolve: () => void }[] = [];
  const length = () => Buffer.concat(chunks).length;
  const all = (async () => {
    for await (const chunk of tailFile(path, { from, ended: () => isOver })) {
      chunks.push(chunk);
      for (const { length: wanted, resolve } of waiting) if (length() >= wanted) resolve();
    }
    return Buffer.concat(chunks).toString();
  })();
  return {
    seen: (wanted: number) =>
      new Promise<void>((resolve) => {
        if (length() >= wanted) resolve();
        else waiting.push({ length: wanted, resolve });
      }),
    end() {
      isOver = true;
      return all;
    },
  };
}

test.each([true, false])(
  "all who follow a file get all of it, wherever they begin (watching: %s)",
  async (watching) => {
    if (!watching) disableWatch();
    const path = join(createProject({ log: "0123456789" }), "log");
    const followers = [0, 5, 10].map((from) => follow(path, from));
    await followers[0]?.seen(10);
    let text = "0123456789";
    for (const length of [1, 1_000, 300_000, 7]) {
      const more = "x".repeat(length);
      appendFileSync(path, more);
      text += more;
      await Promise.all(followers.map((follower, n) => follower.seen(text.length - n * 5)));
    }
    followers.push(follow(path, 3));
    const got = await Promise.all(followers.map((follower) => follower.end()));
    expect(got).toEqual([0, 5, 10, 3].map((from) => text.slice(from)));
  },
);

test("a follower of a replaced file goes on with the old one, and a later follower gets the new one", async () => {
  const path = join(createProject({ log: "old" }), "log");
  const first = follow(path);
  await first.seen(3);
  renameSync(path, `${path}.old`);
  writeFileSync(path, "new file");
  const second = follow(path);
  await second.seen(8);
  appendFileSync(`${path}.old`, " still");
  appendFileSync(path, " grows");
  await Promise.all([first.seen(9), second.seen(14)]);
  expect(await first.end()).toBe("old still");
  expect(await second.end()).toBe("new file grows");
});

test("a follower that leaves takes nothing from the others", async () => {
  const path = join(createProject({ log: "a" }), "log");
  const leaving = new AbortController();
  const stays = follow(path);
  const left = (async () => {
    const chunks: string[] = [];
    const options = { ended: () => false, signal: leaving.signal };
    for await (const chunk of tailFile(path, options)) chunks.push(String(chunk));
    return chunks.join("");
  })();
  await stays.seen(1);
  appendFileSync(path, "b");
  await stays.seen(2);
  leaving.abort();
  expect("ab".startsWith(await left)).toBe(true);
  appendFileSync(path, "c");
  await stays.seen(3);
  expect(await stays.end()).toBe("abc");
});

test.each(["first", "second"])(
  "a follower reads the writer's last bytes when the %s check finds it ended",
  async (which) => {
    const path = join(createProject({ log: "a" }), "log");
    let checks = 0;
    const ended = () => {
      if (++checks < (which === "first" ? 1 : 2)) return false;
      // The writer's last act, just before it is found to have ended.
      appendFileSync(path, "last words");
      return true;
    };
    const chunks: Buffer[] = [];
    for await (const chunk of tailFile(path, { ended })) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("alast words");
  },
);

test("each tick comes before the question whether the writer has ended", async () => {
  const path = join(createProject(), "log");
  writeFileSync(path, "a\n");
  let ticks = 0;
  const chunks: string[] = [];
  const options = { onTick: () => void ticks++, ended: () => ticks === 3 };
  for await (const chunk of tailFile(path, options)) chunks.push(String(chunk));
  expect([ticks, chunks]).toEqual([3, ["a\n"]]);
});
