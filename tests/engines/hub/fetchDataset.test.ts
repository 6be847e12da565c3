import { execFile } from "node:child_process";
import fs, { readFileSync, readdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { fetchDataset } from "../../../engines/hub/fetchDataset.ts";
import { openCache } from "../../../engines/hub/hubCache.ts";
import type { HubRequest } from "../../../engines/hub/hubRequest.ts";
import { hubSettings } from "../../../engines/hub/hubSettings.ts";
import { createDownloader } from "../../../engines/hub/repoDownload.ts";
import type { HubSplit } from "../../../protocol/dataset.ts";
import { type Hub, type HubRepo, startHub } from "../../hub/server.ts";
import { simulatePlatform } from "../../windows.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { PYTHON, hasPython } from "../python/environment.ts";

const NAME = "org/data";
const REPO = `datasets/${NAME}`;
const CONVERTED = "refs/convert/parquet";
const OWN = {
  "train.jsonl": `{"text":"own"}\n`,
  "test.jsonl": `{"text":"test"}\n`,
  "lines.json": `\n{"text":"a line"}\n`,
};
const PARQUET = {
  "default/train/0000.parquet": "PAR1 first",
  "default/train/0001.parquet": "PAR1 second",
  "default/test/0000.parquet": "PAR1 test",
};

async function hubOf(repo: Partial<HubRepo> = {}): Promise<Hub> {
  const hub = await startHub({ [REPO]: { files: OWN, ...repo } });
  hub.commit(REPO, PARQUET, CONVERTED);
  onTestFinished(hub.close);
  return hub;
}

/** A machine's cache, and fetches into it. */
function cacheOf({ endpoint }: Hub, home = scratchDirectory()) {
  const notes: string[] = [];
  return {
    ...{ home, notes },
    fetch: (split: Partial<HubSplit> = {}, env: Record<string, string> = {}) => {
      const settings = hubSettings({ HF_ENDPOINT: endpoint, HF_HOME: home, ...env });
      const onNote = (text: string) => void notes.push(text);
      return fetchDataset({ name: NAME, ...split }, { settings, onNote });
    },
  };
}

const contents = (paths: string[]) => paths.map((path) => readFileSync(path, "utf8"));
const OFFLINE = { HF_HUB_OFFLINE: "1" };

test("the hub's Parquet files of a split come to the shared cache, and no others", async () => {
  const hub = await hubOf();
  const { home, notes, fetch } = cacheOf(hub);
  const { type, paths } = await fetch();
  expect(type).toBe("parquet");
  expect(contents(paths)).toEqual(["PAR1 first", "PAR1 second"]);
  const folder = join(home, "hub/datasets--org--data");
  const commit = readFileSync(join(folder, "refs", CONVERTED), "utf8");
  expect(paths[0]).toBe(join(folder, "snapshots", commit, "default/train/0000.parquet"));
  expect(readdirSync(join(folder, "blobs"))).toHaveLength(2);
  expect(notes.at(-1)).toBe(`org/data at ${commit}: default/train/0000.parquet and 1 more`);
  const asked = hub.requests.length;
  await fetch();
  expect(hub.requests).toHaveLength(asked + 1);
});

test.each([
  ["need a right, as on Windows", "EPERM"],
  ["can't be, as on a Mac's exFAT", "ENOTSUP"],
])("where links %s, files come to the cache without them, once", async (_, code) => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const link = vi.spyOn(fs, "symlinkSync").mockImplementation(() => {
    throw Object.assign(new Error(`${code}: symlink`), { code });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    link.mockRestore();
    syncBuiltinESMExports();
  });
  const { paths } = await fetch();
  expect(contents(paths)).toEqual(["PAR1 first", "PAR1 second"]);
  expect(readdirSync(join(home, "hub/datasets--org--data/blobs"))).toEqual([]);
  const asked = hub.requests.length;
  expect((await fetch()).paths).toEqual(paths);
  expect(hub.requests).toHaveLength(asked + 1);
});

test.each([
  "a:b/0.parquet",
  "default/aux.parquet",
  "default/con",
  "default/x.",
  "default/a?.jsonl",
])("%s is refused on Windows, which would write to something else", async (name) => {
  simulatePlatform("win32");
  const request = { name: { repoType: "dataset", repo: NAME, revision: "main" } } as HubRequest;
  const cache = openCache(scratchDirectory(), request.name);
  const downloader = createDownloader(request, "0".repeat(40), cache, () => undefined);
  await expect(downloader.fetch([{ name, size: 2, hash: "0".repeat(40) }])).rejects.toThrow(
    `Windows can't store ${name} of org/data.`,
  );
});

test("with a revision the repository's own files are read", async () => {
  const hub = await hubOf();
  const { fetch } = cacheOf(hub);
  expect(contents((await fetch({ revision: "main" })).paths)).toEqual([OWN["train.jsonl"]]);
  const before = hub.head(REPO);
  hub.commit(REPO, { "train.json": OWN["lines.json"] });
  const { type, paths } = await fetch({ revision: "main" });
  expect([type, ...contents(paths)]).toEqual(["jsonl", OWN["lines.json"]]);
  const asked = hub.requests.length;
  // Nothing of a commit can change.
  expect(contents((await fetch({ revision: before })).paths)).toEqual([OWN["train.jsonl"]]);
  expect(hub.requests).toHaveLength(asked);
});

test("what is here is read offline, and when the hub is gone", async () => {
  const hub = await hubOf();
  const { fetch, notes } = cacheOf(hub);
  await expect(fetch({}, OFFLINE)).rejects.toThrow(
    /^HF_HUB_OFFLINE is set, and org\/data is not in .*\. Remove the variable to download it\.$/,
  );
  const { paths } = await fetch();
  expect(await fetch({}, OFFLINE)).toEqual({ type: "parquet", paths });
  await expect(fetch({ split: "test" }, OFFLINE)).rejects.toThrow(/^HF_HUB_OFFLINE is set/);
  await hub.close();
  expect((await fetch()).paths).toEqual(paths);
  expect(notes.at(-2)).toMatch(/^warning: Cannot download org\/data from .*from the cache$/s);
  await expect(fetch({ split: "test" })).rejects.toThrow(
    /or copy its files here and pass their path\.$/,
  );
});

test.each<[string, Partial<HubRepo>, Partial<HubSplit>, RegExp]>([
  [
    "no such dataset",
    {},
    { name: "org/x" },
    /^There is no dataset org\/x at http.*path of your own/,
  ],
  ["no name", {}, { name: "squad" }, /^"squad" is not a valid dataset name\. Write "org\/name"/],
  ["no such revision", {}, { revision: "v9" }, /^org\/data has no revision "v9"\. Name a branch/],
  [
    "no revision",
    {},
    { revision: "../x" },
    /^"\.\.\/x" is not a valid revision of org\/data\. Set/,
  ],
  ["gated", { gatedTo: ["hf_a"] }, {}, /^org\/data is gated\. Open http.*\/datasets\/org\/data to/],
])("%s is said in a sentence", async (_, repo, split, message) => {
  await expect(cacheOf(await hubOf(repo)).fetch(split)).rejects.toThrow(message);
});

test("what the hub has not converted is said", async () => {
  const hub = await startHub({ [REPO]: { files: OWN } });
  onTestFinished(hub.close);
  await expect(cacheOf(hub).fetch()).rejects.toThrow(
    /^The hub has no Parquet conversion of org\/data\. Set revision: "main" to read its original files\.$/,
  );
});

test.runIf(hasPython)("Python finds what Kit has downloaded", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const { paths } = await fetch();
  const code = `import huggingface_hub as h
print(h.hf_hub_download("org/data", "default/train/0000.parquet", repo_type="dataset", revision="${CONVERTED}"))`;
  const env = { ...process.env, HF_HOME: home, HF_ENDPOINT: hub.endpoint, ...OFFLINE };
  const { stdout } = await promisify(execFile)(PYTHON, ["-c", code], { env });
  expect(stdout.trim()).toBe(paths[0]);
});
