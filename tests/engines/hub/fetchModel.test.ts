import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fetchModel } from "../../../engines/hub/fetchModel.ts";
import { hubSettings } from "../../../engines/hub/hubSettings.ts";
import { writeSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { fillDisk, makeReadOnly, mountDisk } from "../../disk.ts";
import { sha256 } from "../../hub/answers.ts";
import { type Hub, type HubRepo, type HubRequest, startHub } from "../../hub/server.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

const REPO = "org/tiny";
const WEIGHTS = Buffer.concat(
  writeSafetensors({
    weights: { shape: [75_000], data: Float32Array.from({ length: 75_000 }, (_, n) => n) },
  }),
);
const FILES = {
  "config.json": `{"model_type":"llama"}`,
  "tokenizer.json": "{}",
  "model.safetensors": WEIGHTS,
  "pytorch_model.bin": "pickled",
  "README.md": "# Tiny",
  "original/model.safetensors": "other",
};
const NEEDED = ["config.json", "model.safetensors", "tokenizer.json"];
const FOLDER = "hub/models--org--tiny";
const PARTIAL = `${FOLDER}/blobs/${sha256(WEIGHTS)}.kit.incomplete`;

interface Cache {
  home: string;
  fetch: (more?: {
    revision?: string;
    signal?: AbortSignal;
    repo?: string;
  }) => ReturnType<typeof fetchModel>;
  notes: string[];
}

async function hubOf(repo: Partial<HubRepo> = {}): Promise<Hub> {
  const hub = await startHub({ [REPO]: { files: FILES, ...repo } });
  onTestFinished(hub.close);
  return hub;
}

/** A machine's cache, and fetches into it. */
function cacheOf(
  { endpoint }: { endpoint: string },
  env: Record<string, string> = {},
  home = scratchDirectory(),
): Cache {
  const settings = hubSettings({ HF_ENDPOINT: endpoint, HF_HOME: home, ...env });
  const notes: string[] = [];
  const onNote = (text: string) => void notes.push(text);
  return {
    ...{ home, notes },
    fetch: ({ revision = "main", repo = REPO, signal } = {}) =>
      fetchModel({ repoType: "model", repo, revision }, { settings, signal, onNote }),
  };
}

/** Whether it asks for the model's weights, where large files are stored. */
function isWeights({ to, path }: HubRequest): boolean {
  return to === "storage" && path.includes("model.safetensors");
}

/** Sends the beginning of the weights from a byte on; the rest never comes. */
function sendPart(response: ServerResponse, from = 0, to = 100_000): void {
  const range = { "Content-Range": `bytes ${from}-${WEIGHTS.length - 1}/${WEIGHTS.length}` };
  response.writeHead(from ? 206 : 200, { "Content-Length": WEIGHTS.length - from, ...range });
  response.write(WEIGHTS.subarray(from, to));
}

test("downloads what a model needs, and no more, as Python lays it out", async () => {
  const hub = await hubOf();
  const { home, fetch, notes } = cacheOf(hub);
  const { directory, commit } = await fetch();
  expect(commit).toBe(hub.head(REPO));
  expect(directory).toBe(join(home, FOLDER, "snapshots", commit));
  expect(readdirSync(directory).toSorted()).toEqual(NEEDED);
  expect(readFileSync(join(directory, "model.safetensors")).equals(WEIGHTS)).toBe(true);
  expect(readlinkSync(join(directory, "model.safetensors"))).toBe(`../../blobs/${sha256(WEIGHTS)}`);
  // As `git hash-object` names it.
  expect(readlinkSync(join(directory, "tokenizer.json"))).toBe(
    "../../blobs/9e26dfeeb6e641a33dae4961196235bdb965b21b",
  );
  expect(readFileSync(join(home, FOLDER, "refs/main"), "utf8")).toBe(commit);
  expect(readdirSync(join(home, FOLDER, "blobs"))).toHaveLength(NEEDED.length);
  expect(notes).toEqual(["downloading org/tiny, 0.3 MB"]);
});

test("downloads the chat template for tools, in its own folder", async () => {
  const name = "additional_chat_templates/tool_use.jinja";
  const hub = await hubOf({ files: { ...FILES, [name]: "tools", [`other/${name}`]: "no" } });
  const { home, fetch } = cacheOf(hub);
  const { directory, commit } = await fetch();
  expect(readFileSync(join(directory, name), "utf8")).toBe("tools");
  expect(readdirSync(directory).toSorted()).toEqual(
    [...NEEDED, "additional_chat_templates"].toSorted(),
  );
  hub.requests.length = 0;
  await cacheOf(hub, {}, home).fetch({ revision: commit });
  expect(hub.requests).toEqual([]);
});

test("asks for a branch once more, for a commit never again, and downloads nothing twice", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const { commit } = await fetch();
  const asked = hub.requests.length;
  expect((await fetch()).commit).toBe(commit);
  expect((await fetch({ revision: commit })).commit).toBe(commit);
  expect(hub.requests.slice(asked).map(({ path }) => path)).toEqual([
    "/api/models/org/tiny/revision/main?blobs=true",
  ]);
  const newer = hub.commit(REPO, { ...FILES, "config.json": `{"model_type":"llama2"}` });
  expect((await fetch()).commit).toBe(newer);
  expect(hub.requests.filter(isWeights)).toHaveLength(1);
  expect(
    lstatSync(join(home, FOLDER, "snapshots", newer, "model.safetensors")).isSymbolicLink(),
  ).toBe(true);
  expect((await fetch({ revision: commit })).commit).toBe(commit);
});

test.each(["tokenizer.json", "chat_template.jinja"])(
  "a commit that another tool has left without %s is completed once, if the hub answers",
  async (missing) => {
    const hub = await hubOf({ files: { ...FILES, "chat_template.jinja": "{{ messages }}" } });
    const commit = hub.head(REPO);
    const { home, fetch, notes } = cacheOf(hub);
    const { directory } = await fetch();
    const leave = () => {
      rmSync(join(directory, missing));
      rmSync(join(home, FOLDER, ".no_exist"), { recursive: true });
    };
    leave();
    await fetch({ revision: commit });
    expect(readdirSync(directory)).toContain(missing);
    hub.requests.length = 0;
    await fetch({ revision: commit });
    expect(hub.requests).toEqual([]);
    leave();
    await hub.close();
    const away = fetch({ revision: commit });
    if (missing === "tokenizer.json") {
      await expect(away).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
    } else {
      expect((await away).commit).toBe(commit);
      expect(notes.at(-1)).toMatch(
        /^warning: Cannot download org\/tiny .*\n {2}using org\/tiny at /,
      );
    }
  },
);

test("takes another branch, whose name may have slashes", async () => {
  const hub = await hubOf();
  const id = hub.commit(REPO, { ...FILES, "config.json": "{}" }, "refs/pr/1");
  const { home, fetch } = cacheOf(hub);
  expect((await fetch({ revision: "refs/pr/1" })).commit).toBe(id);
  expect(readFileSync(join(home, FOLDER, "refs/refs/pr/1"), "utf8")).toBe(id);
});

test("takes the shards that an index lists", async () => {
  const index = (names: string[]) =>
    JSON.stringify({ weight_map: Object.fromEntries(names.map((name, i) => [`${i}`, name])) });
  const [one, two] = ["model-1-of-2.safetensors", "model-2-of-2.safetensors"];
  const { "model.safetensors": _, ...others } = FILES;
  const shards = { [one]: "1", [two]: "2", "consolidated.safetensors": "3" };
  const files = { ...others, ...shards, "model.safetensors.index.json": index([one, two, one]) };
  const hub = await hubOf({ files });
  const { fetch } = cacheOf(hub);
  expect(readdirSync((await fetch()).directory).toSorted()).toEqual(
    ["config.json", one, two, "model.safetensors.index.json", "tokenizer.json"].toSorted(),
  );
  const names = ["../../secret", "/etc/passwd", "model-3-of-2.safetensors", 7];
  // Which run code, or may.
  const runnable = ["pytorch_model.bin", "modeling_tiny.py", "weights.safetensors.pkl"];
  for (const name of [...names, ...runnable]) {
    hub.commit(REPO, {
      ...{ ...files, "modeling_tiny.py": "print()", "weights.safetensors.pkl": "pickled" },
      "model.safetensors.index.json": index([name as string]),
    });
    await expect(fetch()).rejects.toThrow(
      /^The index of org\/tiny's weights is damaged, or names .* Use another revision/,
    );
  }
  expect(hub.requests.filter(({ path }) => /\.(bin|py|pkl)$/.test(path))).toEqual([]);
});

test("goes on after a cut, and after the process that was cut", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  hub.intercept = (request, response) => {
    if (!isWeights(request)) return false;
    // Once more at the byte that it has, and then no more.
    const from = Number(/\d+/.exec(request.range ?? "0")?.[0]);
    if (from < 200_000) sendPart(response, from, from + 100_000);
    setImmediate(() => response.destroy());
    return true;
  };
  await expect(fetch()).rejects.toMatchObject({
    code: "HUB_UNREACHABLE",
    message: expect.stringMatching(
      /^Cannot download org\/tiny from 127.0.0.1:\d+: .* Check the network/,
    ),
  });
  expect(readFileSync(join(home, PARTIAL)).length).toBe(200_000);
  hub.intercept = () => false;
  hub.requests.length = 0;
  const { directory } = await fetch();
  expect(readFileSync(join(directory, "model.safetensors")).equals(WEIGHTS)).toBe(true);
  expect(hub.requests.find(isWeights)?.range).toBe("bytes=200000-");
  expect(existsSync(join(home, PARTIAL))).toBe(false);
});

test("begins anew when what was there is of another file, or the hub sends all of it", async () => {
  const hub = await hubOf();
  for (const sendsAll of [false, true]) {
    const { home, fetch } = cacheOf(hub);
    mkdirSync(join(home, FOLDER, "blobs"), { recursive: true });
    writeFileSync(join(home, PARTIAL), Buffer.alloc(50_000, "other"));
    hub.intercept = (request, response) => {
      if (!sendsAll || !isWeights(request)) return false;
      response.end(WEIGHTS);
      return true;
    };
    const { directory } = await fetch();
    expect(readFileSync(join(directory, "model.safetensors")).equals(WEIGHTS)).toBe(true);
  }
});

test("ends at once when it is aborted, and keeps what has come", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const abort = new AbortController();
  const reason = new Error("enough");
  hub.intercept = (request, response) => {
    if (!isWeights(request)) return false;
    sendPart(response);
    return true;
  };
  const fetched = fetch({ signal: abort.signal });
  await expect
    .poll(() => existsSync(join(home, PARTIAL)) && readFileSync(join(home, PARTIAL)).length)
    .toBe(100_000);
  abort.abort(reason);
  await expect(fetched).rejects.toBe(reason);
  expect(readFileSync(join(home, PARTIAL)).length).toBe(100_000);
  hub.intercept = () => false;
  await fetch();
  expect(hub.requests.findLast(isWeights)?.range).toBe("bytes=100000-");
});

test("weights that were cut off on this disk are downloaded again, also those of a commit", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const { directory, commit } = await fetch();
  for (const revision of ["main", commit]) {
    truncateSync(join(home, FOLDER, "blobs", sha256(WEIGHTS)), 1_000);
    await fetch({ revision });
    expect(readFileSync(join(directory, "model.safetensors")).equals(WEIGHTS)).toBe(true);
  }
});

test.each(["", "blobs", "refs", "snapshots", "snapshots/commit"])(
  "nothing is written through a link in the place of a folder of a shared cache: %j",
  async (folder) => {
    const hub = await hubOf();
    const { home, fetch, notes } = cacheOf(hub);
    const others = scratchDirectory();
    for (const name of ["main", "config.json"]) writeFileSync(join(others, name), "mine");
    const path = join(home, FOLDER, folder.replace("commit", hub.head(REPO)));
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(others, path);
    // Only the name of the branch is missing.
    if (folder === "refs") await fetch();
    else await expect(fetch()).rejects.toMatchObject({ code: "CANNOT_WRITE" });
    expect(notes).toEqual(
      folder === "refs" ? [expect.any(String), expect.stringContaining(path)] : [],
    );
    expect(readdirSync(others).toSorted()).toEqual(["config.json", "main"]);
    for (const name of readdirSync(others))
      expect(readFileSync(join(others, name), "utf8")).toBe("mine");
  },
);

test("a link in the place of a download is removed, and what it leads to is not written", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const other = join(scratchDirectory(), "notes.txt");
  writeFileSync(other, "mine");
  mkdirSync(join(home, FOLDER, "blobs"), { recursive: true });
  symlinkSync(other, join(home, PARTIAL));
  const { directory } = await fetch();
  expect(readFileSync(other, "utf8")).toBe("mine");
  expect(readFileSync(join(directory, "model.safetensors")).equals(WEIGHTS)).toBe(true);
  expect(lstatSync(join(home, FOLDER, "blobs", sha256(WEIGHTS))).isFile()).toBe(true);
});

test("two at once download each file once", async () => {
  const hub = await hubOf();
  const { home, fetch, notes } = cacheOf(hub);
  const other = cacheOf(hub, {}, home);
  let go: () => void = () => undefined;
  hub.intercept = (request, response) => {
    if (!isWeights(request)) return false;
    sendPart(response);
    go = () => response.end(WEIGHTS.subarray(100_000));
    return true;
  };
  const both = [fetch(), other.fetch()];
  const waiting = "waiting for another process to download org/tiny";
  await expect.poll(() => [...notes, ...other.notes]).toContain(waiting);
  await expect.poll(() => hub.requests.some(isWeights)).toBe(true);
  go();
  const [one, two] = await Promise.all(both);
  expect(one).toEqual(two);
  expect(hub.requests.filter(isWeights)).toHaveLength(1);
  expect(readdirSync(join(home, "hub/.locks/models--org--tiny"))).toEqual([]);
});

test("sends the token to the hub, and to no other origin", async () => {
  const hub = await hubOf({ gatedTo: ["hf_good"] });
  const { home, fetch } = cacheOf(hub, { HF_TOKEN: "hf_good" });
  await fetch();
  const tokens = (to: string) =>
    new Set(hub.requests.filter((one) => one.to === to).map((one) => one.authorization));
  expect([...tokens("hub")]).toEqual(["Bearer hf_good"]);
  expect([...tokens("storage")]).toEqual([undefined]);
  // The file that `hf auth login` writes.
  writeFileSync(join(home, "token"), "hf_good\n");
  rmSync(join(home, "hub"), { recursive: true });
  await cacheOf(hub, {}, home).fetch();
});

test.each(["hf_SECRET\nx", "hf_SECRET x", "hf_SECRETü"])(
  "a token that no header can carry is not printed: %j",
  async (token) => {
    const hub = await hubOf();
    const { home, fetch } = cacheOf(hub, { HF_TOKEN: token });
    const expected = {
      code: "CONFIG_INVALID",
      message: `The token in HF_TOKEN, or in the file saved by hf auth login, contains a space, a line break or another invalid character. Set HF_TOKEN to one from ${hub.endpoint}/settings/tokens.`,
    };
    await expect(fetch()).rejects.toMatchObject(expected);
    writeFileSync(join(home, "token"), token);
    await expect(cacheOf(hub, {}, home).fetch()).rejects.toMatchObject(expected);
    expect(hub.requests).toEqual([]);
  },
);

test.each([
  [
    {},
    {},
    "org/none",
    /^There is no model org\/none at http.*, or it is private\. Check its name, /,
  ],
  [{}, { HF_TOKEN: "hf_any" }, "org/none", /^There is no model org\/none at /],
  [{ privateTo: ["hf_good"] }, {}, REPO, /^There is no model org\/tiny at .* set HF_TOKEN/],
  [
    {},
    {},
    `${REPO}@gone`,
    /^org\/tiny has no revision "gone"\. Name a branch, tag or commit that http/,
  ],
  [
    { gatedTo: ["hf_good"] },
    {},
    REPO,
    /^org\/tiny is gated\. Open http.*\/org\/tiny to accept its terms, and set HF_TOKEN/,
  ],
  [{ gatedTo: ["hf_good"] }, { HF_TOKEN: "hf_other" }, REPO, /^org\/tiny is gated\. /],
  [{}, { HF_TOKEN: "hf_unknown" }, REPO, /^http\S+ rejected the token\. Set HF_TOKEN to one from /],
  [
    { files: { "config.json": "{}", "pytorch_model.bin": "x" } },
    {},
    REPO,
    /^org\/tiny has no model\.safetensors /,
  ],
  [
    { files: { "config.json": "{}", "model.safetensors": "x" } },
    {},
    REPO,
    /^The tokenizer of org\/tiny has no tokenizer\.json\. Use a model that has one\.$/,
  ],
  [
    {},
    { HF_HUB_OFFLINE: "1" },
    REPO,
    /^HF_HUB_OFFLINE is set, and org\/tiny at main is not in .*hub\. Remove the variable/,
  ],
] as const)("says what to do: %j %j %s", async (repo, env, name, message) => {
  const hub = await hubOf(repo as Partial<HubRepo>);
  const [wanted = "", revision = "main"] = name.split("@");
  const { fetch, home } = cacheOf(hub, env);
  const error: unknown = await fetch({ repo: wanted, revision }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "KitError", message: expect.stringMatching(message) });
  expect(existsSync(join(home, FOLDER, "refs"))).toBe(false);
  expect(hub.requests.filter(isWeights)).toEqual([]);
});

test.each([
  ["config.json", 5],
  ["tokenizer.json", 135],
])(
  "a %s that is larger than any model's is refused before it is downloaded",
  async (name, size) => {
    const hub = await hubOf({ files: { ...FILES, [name]: Buffer.alloc(size * 1e6) } });
    await expect(cacheOf(hub).fetch()).rejects.toThrow(
      `${name} of org/tiny is ${size} MB, too large for such a file. Use another model.`,
    );
    expect(hub.requests).toHaveLength(1);
  },
);

test("a status that no hub explains fails with one clear sentence", async () => {
  const hub = await hubOf();
  const { fetch } = cacheOf(hub);
  const answers = {
    403: /^http\S+ denied this token access to org\/tiny \(not yours\)\. Set HF_TOKEN/,
    503: /^http\S+ answered 503 for org\/tiny\. Try again later\./,
  };
  for (const [status, message] of Object.entries(answers)) {
    hub.intercept = (_, response) => {
      response.writeHead(Number(status), { "X-Error-Message": "not yours" }).end();
      return true;
    };
    await expect(fetch()).rejects.toThrow(message);
  }
});

test("takes what is here when the hub can't be asked, and says so", async () => {
  const hub = await hubOf();
  const { home, fetch } = cacheOf(hub);
  const { commit } = await fetch();
  await hub.close();
  const { fetch: again, notes } = cacheOf(hub, {}, home);
  expect((await again()).commit).toBe(commit);
  expect(notes).toEqual([
    expect.stringMatching(
      /^warning: Cannot download org\/tiny from .*\n  using org\/tiny at [0-9a-f]{40} from the cache$/,
    ),
  ]);
  const offline = cacheOf(hub, { HF_HUB_OFFLINE: "1" }, home);
  expect((await offline.fetch()).commit).toBe(commit);
  expect(offline.notes).toEqual([]);
  // Another tool leaves no word on what a model does not have.
  rmSync(join(home, FOLDER, ".no_exist"), { recursive: true });
  expect((await offline.fetch()).commit).toBe(commit);
  expect(offline.notes).toEqual([
    "warning: org/tiny is in the cache without its tokenizer_config.json, and perhaps its chat template. Remove HF_HUB_OFFLINE to download them.",
  ]);
  rmSync(join(home, FOLDER, "blobs", sha256(WEIGHTS)));
  await expect(offline.fetch()).rejects.toThrow(/^HF_HUB_OFFLINE is set/);
  await expect(again()).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
});

test("takes what is here when the disk is read-only and lacks only what a model can do without", async () => {
  const hub = await hubOf({ files: { ...FILES, "generation_config.json": "{}" } });
  const home = scratchDirectory();
  mountDisk(join(home, "hub"), 2000);
  const { fetch, notes } = cacheOf(hub, {}, home);
  const { commit, directory } = await fetch();
  rmSync(join(directory, "generation_config.json"));
  rmSync(join(home, FOLDER, "refs/main"));
  makeReadOnly(join(home, "hub"));
  notes.length = 0;
  expect((await fetch()).commit).toBe(commit);
  expect(notes).toEqual([
    expect.stringMatching(
      /^warning: Cannot download org\/tiny to \S+: EROFS.*\n {2}using org\/tiny at [0-9a-f]{40} from the cache$/,
    ),
  ]);
  hub.commit(REPO, { ...FILES, "config.json": "{}" });
  await expect(fetch()).rejects.toThrow(
    /^Cannot download org\/tiny to \S+: E.* Make the folder writable/,
  );
});

test("waits no longer than HF_HUB_DOWNLOAD_TIMEOUT for a silent hub", async () => {
  const hub = await hubOf();
  hub.intercept = () => true;
  const { fetch } = cacheOf(hub, { HF_HUB_DOWNLOAD_TIMEOUT: "0.05" });
  await expect(fetch()).rejects.toThrow(/it sent nothing for 0\.05 s\. Check the network/);
});

test("a hub that lies is detected, and leaves nothing", async () => {
  const hub = await hubOf();
  const lies = {
    "sent a model.safetensors that doesn't match its listed hash": Buffer.alloc(
      WEIGHTS.length,
      "lies",
    ),
    "sent more bytes of model.safetensors than it lists": Buffer.alloc(WEIGHTS.length + 1),
  };
  for (const [lie, body] of Object.entries(lies)) {
    const { home, fetch } = cacheOf(hub);
    hub.intercept = (request, response) => isWeights(request) && !!response.end(body);
    await expect(fetch()).rejects.toMatchObject({
      code: "HUB_INVALID",
      message: `${hub.endpoint} ${lie}. Check HF_ENDPOINT and the network, and try again.`,
    });
    expect(existsSync(join(home, FOLDER, "blobs", sha256(WEIGHTS)))).toBe(false);
    hub.intercept = () => false;
    await fetch();
  }
});

test.each(["../evil.json", "/etc/evil.json", "a/../../evil.json", "..\\evil.json", ""])(
  "a hub that lists the file %j is refused",
  async (name) => {
    const hub = await hubOf({ files: { ...FILES, [name]: "evil" } });
    const { home, fetch } = cacheOf(hub);
    await expect(fetch()).rejects.toThrow("lists a file with the invalid name");
    expect(readdirSync(home)).toEqual([]);
  },
);

test.each([
  "<html>Log in</html>",
  "[]",
  `{"sha":"../x","siblings":[]}`,
  `{"sha":"${"a".repeat(40)}","siblings":[{"rfilename":"config.json","size":-1,"blobId":"../x"}]}`,
])("what is no hub is told apart: %s", async (body) => {
  const hub = await hubOf();
  hub.intercept = (_, response) => !!response.end(body);
  await expect(cacheOf(hub).fetch()).rejects.toMatchObject({ code: "HUB_INVALID" });
});

test("a full disk fails with one clear sentence, before the download and within it", async () => {
  const hub = await hubOf();
  const home = scratchDirectory();
  mountDisk(join(home, "hub"), 200);
  const { fetch } = cacheOf(hub, {}, home);
  await expect(fetch()).rejects.toThrow(
    /^org\/tiny takes 0\.3 MB, but \S+ has 0\.2 MB free\. Free disk space, or set HF_HUB_CACHE/,
  );
  fillDisk(join(home, "hub"));
  hub.commit(REPO, { ...FILES, "config.json": "{}" });
  await expect(fetch()).rejects.toThrow(
    /^Cannot download org\/tiny to \S+: ENOSPC.* free disk space\./,
  );
});
