import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tableColumns } from "../../../../engines/dataset/tables/tables.ts";
import { typeOfFile } from "../../../../protocol/dataset.ts";
import { spawnModule } from "../../../process.ts";
import { scratchDirectory } from "../../embedded/scratch.ts";
import { fixture, refusal, rowsOf, table } from "./tables.ts";

it("a file's type is its ending, in whichever case; without a known one it is JSONL", () => {
  for (const [type, endings] of Object.entries({
    csv: ["csv", "tsv", "CSV", "csv.gz"],
    parquet: ["parquet", "Parquet"],
    json: ["json"],
    jsonl: ["jsonl", "txt", "gz"],
  })) {
    for (const ending of endings) expect(typeOfFile(`data.json/rows.${ending}`)).toBe(type);
  }
  expect(typeOfFile("csv")).toBe("jsonl");
});

it("each type is read by its own reader", async () => {
  expect(await rowsOf(fixture("pandas.csv"))).toHaveLength(3);
  expect(await rowsOf(fixture("pandas.parquet"))).toHaveLength(40);
});

it.each(["csv", "parquet", "json"])(
  "a .%s that cannot be read says why, as JSONL does",
  async (type) => {
    const folder = scratchDirectory();
    mkdirSync(join(folder, `b.${type}`));
    const advice = "Check its path.";
    for (const [name, why] of [
      [`a.${type}`, "there is no such file"],
      [`b.${type}`, "it is a folder, not a file"],
    ] as const) {
      expect(await refusal(join(folder, name))).toBe(
        `DATASET_UNREADABLE Cannot read the dataset ${name}: ${why}. ${advice}`,
      );
    }
  },
);

it("the columns of a table are known before its rows, of Parquet also without any", async () => {
  expect(await tableColumns("parquet", fixture("empty.parquet"))).toEqual([
    ...["question", "answer", "count"],
  ]);
  expect(await tableColumns("parquet", fixture("nested.parquet"))).toEqual(["messages"]);
  expect(await tableColumns("csv", fixture("pandas.csv"))).toEqual(["question", "answer", "count"]);
  expect(await tableColumns("json", table("a.json", "[]"))).toEqual([]);
});

it("whoever reads JSONL loads none of the libraries", async () => {
  const { line } = spawnModule(`
    const { register } = await import("node:module");
    const { MessageChannel } = await import("node:worker_threads");
    const { port1, port2 } = new MessageChannel();
    const loaded = [];
    port1.on("message", (url) => loaded.push(url));
    const hook = \`
      let port;
      export const initialize = (data) => { port = data; };
      export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };
    \`;
    register("data:text/javascript," + encodeURIComponent(hook), { data: port2, transferList: [port2] });
    // Messages come in their order, so that all before a module's own have come with it.
    const allLoaded = async (url) => {
      await import(url);
      while (!loaded.includes(url)) await new Promise((resolve) => setImmediate(resolve));
    };
    const tables = await dist("engines/dataset/tables/tables.js");
    await allLoaded("data:text/javascript,1");
    const before = loaded.length;
    for await (const _ of tables.readTable("csv", ${JSON.stringify(fixture("pandas.csv"))}));
    await allLoaded("data:text/javascript,2");
    const libraries = (urls) => urls.filter((url) => url.includes("node_modules")).length > 0;
    console.log(JSON.stringify([libraries(loaded.slice(0, before)), libraries(loaded.slice(before))]));
    process.exit();
  `);
  expect(JSON.parse(await line())).toEqual([false, true]);
});
