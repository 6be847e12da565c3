import { expect, it } from "vitest";
import { createShelf } from "../../../server/serve/shelf.ts";
import { sayBack } from "./serveServer.ts";

function served(id: string) {
  const { model, isClosed } = sayBack();
  return { served: { id, created: 0, atOnce: 1, open: () => Promise.resolve(model) }, isClosed };
}

it("a model that is replaced answers its requests to their end, and is then closed", async () => {
  const shelf = createShelf();
  const [old, next] = [served("1"), served("2")];
  await shelf.put(old.served, ["1", "dates", "latest"]);
  const loan = await shelf.lend("latest");
  await shelf.put(next.served, ["2", "dates", "latest"]);
  shelf.retire("1");
  expect((await shelf.lend("latest"))?.served.id).toBe("2");
  expect(shelf.lend("1")).toBeUndefined();
  expect(old.isClosed()).toBe(false);
  loan?.giveBack();
  await expect.poll(old.isClosed).toBe(true);
  expect(next.isClosed()).toBe(false);
  await shelf.close();
  expect(next.isClosed()).toBe(true);
});

it("a model that lost all its names is closed, one that kept some is not", async () => {
  const shelf = createShelf();
  const [one, other] = [served("1"), served("2")];
  await shelf.put(one.served, ["1", "latest"]);
  await shelf.put(other.served, ["2", "latest"]);
  expect(one.isClosed()).toBe(false);
  expect(shelf.names().map(({ name }) => name)).toEqual(["1", "latest", "2"]);
  await shelf.put(served("3").served, ["1", "3"]);
  await expect.poll(one.isClosed).toBe(true);
});

it("a model that is opened when it is asked for is tried again after a failure", async () => {
  const shelf = createShelf();
  const { model } = sayBack();
  let tries = 0;
  const open = () =>
    ++tries === 1 ? Promise.reject(new Error("no network")) : Promise.resolve(model);
  shelf.putUnopened({ id: "base", created: 0, atOnce: 1, open }, ["base"]);
  expect(tries).toBe(0);
  await expect(shelf.lend("base")).rejects.toThrow("no network");
  const [one, other] = await Promise.all([shelf.lend("base"), shelf.lend("base")]);
  expect([one?.model, other?.model, tries]).toEqual([model, model, 2]);
});

it("a model whose engine has ended is opened anew for the next request", async () => {
  const shelf = createShelf();
  let opened = 0;
  const open = () => (opened++, Promise.resolve(sayBack().model));
  await shelf.put({ id: "1", created: 0, atOnce: 2, open }, ["1"]);
  const [one, other] = await Promise.all([shelf.lend("1"), shelf.lend("1")]);
  one?.forget();
  const next = await shelf.lend("1");
  expect(next?.model).not.toBe(one?.model);
  // Which that one had been opened before.
  other?.forget();
  expect((await shelf.lend("1"))?.model).toBe(next?.model);
  expect(opened).toBe(2);
});
