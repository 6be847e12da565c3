import { expect, it } from "vitest";
import { createModelPool } from "../../../server/serve/modelPool.ts";
import { sayBack } from "./serveServer.ts";

function served(id: string) {
  const { model, isClosed } = sayBack();
  return {
    served: { id, created: 0, maxConcurrent: 1, open: () => Promise.resolve(model) },
    isClosed,
  };
}

it("a model that is replaced answers its requests to their end, and is then closed", async () => {
  const shelf = createModelPool();
  const [old, next] = [served("1"), served("2")];
  await shelf.add(old.served, ["1", "dates", "latest"]);
  const loan = await shelf.acquire("latest");
  await shelf.add(next.served, ["2", "dates", "latest"]);
  shelf.evict("1");
  expect((await shelf.acquire("latest"))?.served.id).toBe("2");
  expect(shelf.acquire("1")).toBeUndefined();
  expect(old.isClosed()).toBe(false);
  loan?.release();
  await expect.poll(old.isClosed).toBe(true);
  expect(next.isClosed()).toBe(false);
  await shelf.close();
  expect(next.isClosed()).toBe(true);
});

it("a model that lost all its names is closed, one that kept some is not", async () => {
  const shelf = createModelPool();
  const [one, other] = [served("1"), served("2")];
  await shelf.add(one.served, ["1", "latest"]);
  await shelf.add(other.served, ["2", "latest"]);
  expect(one.isClosed()).toBe(false);
  expect(shelf.names().map(({ name }) => name)).toEqual(["1", "latest", "2"]);
  await shelf.add(served("3").served, ["1", "3"]);
  await expect.poll(one.isClosed).toBe(true);
});

it("a model that is opened when it is asked for is tried again after a failure", async () => {
  const shelf = createModelPool();
  const { model } = sayBack();
  let tries = 0;
  const open = () =>
    ++tries === 1 ? Promise.reject(new Error("no network")) : Promise.resolve(model);
  shelf.addUnopened({ id: "base", created: 0, maxConcurrent: 1, open }, ["base"]);
  expect(tries).toBe(0);
  await expect(shelf.acquire("base")).rejects.toThrow("no network");
  const [one, other] = await Promise.all([shelf.acquire("base"), shelf.acquire("base")]);
  expect([one?.model, other?.model, tries]).toEqual([model, model, 2]);
});

it("a model whose engine has ended is opened anew for the next request", async () => {
  const shelf = createModelPool();
  let opened = 0;
  const open = () => (opened++, Promise.resolve(sayBack().model));
  await shelf.add({ id: "1", created: 0, maxConcurrent: 2, open }, ["1"]);
  const [one, other] = await Promise.all([shelf.acquire("1"), shelf.acquire("1")]);
  one?.invalidate();
  const next = await shelf.acquire("1");
  expect(next?.model).not.toBe(one?.model);
  // Which that one had been opened before.
  other?.invalidate();
  expect((await shelf.acquire("1"))?.model).toBe(next?.model);
  expect(opened).toBe(2);
});
