import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type HubSettings, hubSettings } from "../../../engines/hub/hubSettings.ts";
import { pushFiles } from "../../../engines/hub/push/pushFiles.ts";
import { openTarget } from "../../../engines/hub/push/targetRepo.ts";
import { sha256 } from "../../hub/answers.ts";
import { type Hub, type HubRequest, startHub } from "../../hub/server.ts";
import { PART_BYTES } from "../../hub/writes.ts";
import { createProject } from "../../project.ts";

const REPO = "ada/tiny";

const CONTENTS = {
  "README.md": '---\nkit_checkpoint: "1/step-4"\n---\n# Tiny\n',
  "model.safetensors": Buffer.alloc(2.5 * PART_BYTES, "weights"),
  "tokenizer.model": Buffer.alloc(PART_BYTES, "tokens"),
};

/** A hub, and a push of three files to it. */
async function createPushing() {
  const hub = await startHub();
  onTestFinished(hub.close);
  const folder = createProject();
  const paths = Object.fromEntries(
    Object.entries(CONTENTS).map(([name, content]) => {
      writeFileSync(join(folder, name), content);
      return [name, join(folder, name)];
    }),
  );
  const settings = {
    ...hubSettings({ HF_HOME: folder, HF_ENDPOINT: hub.endpoint }),
    token: "hf_w",
  };
  const abort = new AbortController();
  return {
    hub,
    abort,
    push: async (changes: Partial<HubSettings> = {}, repo = REPO, isPrivate = true) => {
      const target = await openTarget(repo, isPrivate, { ...settings, ...changes }, abort.signal);
      const about = { title: "Tiny", checkpoint: "1/step-4", onNote: () => {} };
      return pushFiles(target, paths, { isPrivate, ...about });
    },
  };
}

const isStored = ({ to }: HubRequest) => to === "storage";
const isCommit = ({ path }: HubRequest) => path.includes("/commit/");

/** Breaks the connection of the first such requests. */
function breakConnections(hub: Hub, matches: (request: HubRequest) => boolean, times: number) {
  let left = times;
  hub.intercept = (request, response) => {
    if (!matches(request) || left === 0) return false;
    left--;
    response.destroy();
    return true;
  };
}

test("files go up in parts, in one commit; a push without changes makes none", async () => {
  const { hub, push } = await createPushing();
  const pushed = await push();
  expect(pushed).toMatchObject({ isPrivate: true, commit: hub.head(REPO) });
  expect(pushed.files.toSorted()).toEqual(["README.md", "model.safetensors", "tokenizer.model"]);
  expect(hub.requests.filter(isStored)).toHaveLength(4);
  expect(hub.requests.filter(isCommit)).toHaveLength(1);
  expect(await push()).toMatchObject({ commit: pushed.commit, files: [], bytes: 0 });
  expect(hub.requests.filter(isCommit)).toHaveLength(1);
});

test("a private push to a public repository is refused before anything is sent", async () => {
  const { hub, push } = await createPushing();
  await push({}, REPO, false);
  const before = hub.requests.length;
  await expect(push()).rejects.toThrow("ada/tiny is public. Add --public to push to it, or name");
  expect(hub.requests.slice(before).every(({ method }) => method === "GET")).toBe(true);
  await expect(push({}, REPO, false)).resolves.toMatchObject({ files: [], isPrivate: false });
});

test("files of another model that this one lacks are removed", async () => {
  const { hub, push } = await createPushing();
  const { commit } = await push();
  hub.commit(REPO, {
    ...CONTENTS,
    "chat_template.jinja": "old",
    "config.json": "{}",
    LICENSE: "MIT",
  });
  const again = await push();
  expect(again).toMatchObject({ files: [], removed: ["chat_template.jinja", "config.json"] });
  expect(again.commit).not.toBe(commit);
  expect(await push()).toMatchObject({ commit: again.commit, removed: [] });
});

test("a README.md that Kit didn't write is never replaced", async () => {
  const { hub, push } = await createPushing();
  await push();
  hub.commit(REPO, { "README.md": "---\nlicense: mit\n---\n# Mine" });
  const before = hub.requests.length;
  await expect(push()).rejects.toThrow("ada/tiny has a README.md that Kit didn't write. Name");
  expect(hub.requests.slice(before).every(({ method }) => method === "GET")).toBe(true);
});

test("a broken connection is tried again", async () => {
  const { hub, push } = await createPushing();
  breakConnections(hub, (request) => isStored(request) && request.path.includes("/2?"), 2);
  await expect(push()).resolves.toMatchObject({ bytes: 3.5 * PART_BYTES + 42 });
});

test("after a lost connection nothing is committed, and the next push sends what is missing", async () => {
  const { hub, push } = await createPushing();
  breakConnections(hub, ({ path }) => path.includes("/0?"), Infinity);
  await expect(push()).rejects.toMatchObject({
    code: "HUB_UNREACHABLE",
    message: expect.stringMatching(
      /^Cannot push ada\/tiny to 127\.0\.0\.1:\d+: .* Check the network, and run the command again: files that arrived are not sent twice\.$/,
    ) as string,
  });
  expect(hub.requests.filter(isCommit)).toEqual([]);
  const before = hub.requests.length;
  hub.intercept = () => false;
  await push();
  expect(hub.requests.slice(before).filter(isStored)).toHaveLength(1);
  expect(hub.requests.filter(isCommit)).toHaveLength(1);
});

test.each([
  ["before the commit commits nothing", "/preupload/", false],
  ["during the commit comes too late", "/commit/", true],
])("an abort %s", async (_, at, isPushed) => {
  const { hub, push, abort } = await createPushing();
  hub.intercept = ({ path }) => {
    if (path.includes(at)) abort.abort();
    return false;
  };
  if (isPushed) expect(await push()).toMatchObject({ commit: hub.head(REPO) });
  else await expect(push()).rejects.toThrow("aborted");
  expect(hub.requests.filter(isCommit)).toHaveLength(isPushed ? 1 : 0);
});

test("a commit by somebody else since is not overwritten", async () => {
  const { hub, push } = await createPushing();
  await push();
  hub.commit(REPO, { "model.safetensors": Buffer.alloc(9) });
  hub.intercept = ({ path }) => {
    if (path.includes("/preupload/")) hub.commit(REPO, { "README.md": "# Mine" });
    return false;
  };
  await expect(push()).rejects.toThrow(
    "Somebody else committed to ada/tiny meanwhile (A commit has happened since). Run the command again.",
  );
});

test.each([
  ["/create", "ada/tiny has another kind of model (tiny.gguf). Name another repository."],
  ["/preupload/", "Somebody else committed to ada/tiny meanwhile (A commit has happened since)"],
])(
  "of two first pushes, one at %s is refused once the other has committed",
  async (at, sentence) => {
    const { hub, push } = await createPushing();
    let commit = "";
    hub.intercept = ({ path }) => {
      if (path.includes(at)) commit = hub.commit(REPO, { "tiny.gguf": "GGUF" });
      return false;
    };
    await expect(push({}, REPO, false)).rejects.toThrow(sentence);
    expect(hub.head(REPO)).toBe(commit);
  },
);

test.each([
  ["an invalid name", {}, "tiny", '"tiny" is not a valid repository. Write org/name, or your user'],
  ["a revision", {}, "ada/tiny@main", '"ada/tiny@main" is not a valid repository.'],
  ["no token", { token: undefined }, REPO, "Pushing needs a token with write access. Set HF_TOKEN"],
  ["an unknown token", { token: "hf_unknown" }, REPO, "ENDPOINT rejected the token. Set HF_TOKEN"],
  ["a read token", { token: "hf_read" }, REPO, "The token can only read. Set HF_TOKEN to one with"],
  ["a broken token", { token: "a b" }, REPO, "The token in HF_TOKEN, or in the file saved by hf "],
  ["no network by choice", { isOffline: true }, REPO, "HF_HUB_OFFLINE is set. Remove the variable"],
  ["no hub", { endpoint: "http://127.0.0.1:9" }, REPO, "Cannot push ada/tiny to 127.0.0.1:9: "],
])("%s is refused before anything is sent", async (_, changes, repo, sentence) => {
  const { hub, push } = await createPushing();
  const message = sentence.replace("ENDPOINT", hub.endpoint);
  await expect(push(changes, repo)).rejects.toThrow(message);
  expect(hub.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

const FULL = {
  oid: sha256(CONTENTS["model.safetensors"]),
  error: { code: 413, message: "No room" },
};

test.each([
  [
    "/create",
    403,
    { error: "No room" },
    "HUB doesn't let this token write to ada/tiny (No room). ",
  ],
  [
    "/create",
    413,
    { error: "Too large" },
    "HUB has no room for ada/tiny (Too large). Free storage",
  ],
  ["/create", 400, { error: "No" }, "HUB refused to take ada/tiny (No). Check the name and your"],
  ["/create", 503, { error: "Off" }, "HOST could not take ada/tiny (Off). Check the network, and"],
  ["/batch", 422, { message: "Bad." }, "HUB refused to take ada/tiny (Bad). Check the name"],
  ["/batch", 200, { objects: [FULL] }, "HUB has no room for ada/tiny (No room). Free storage"],
  ["/batch", 200, { objects: [] }, "HUB answered nothing for a file to upload. Check HF_ENDPOINT"],
  ["-yaml", 400, { errors: [{ message: "a" }, { message: "b" }] }, "ada/tiny (a; b). Check the"],
  [
    "/upload/",
    403,
    "<Error><Message>Request has expired</Message></Error>",
    "refused a file of ada/tiny (Request has expired). Its link may have expired: run the command",
  ],
])(
  "at %s, status %i is one sentence, and nothing is committed",
  async (at, status, body, words) => {
    const { hub, push } = await createPushing();
    hub.intercept = ({ path }, response) => {
      if (!path.includes(at)) return false;
      response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
      return true;
    };
    const { host } = new URL(hub.endpoint);
    const sentence = words.replace("HUB", hub.endpoint).replace("HOST", host);
    await expect(push()).rejects.toThrow(sentence);
    expect(hub.requests.filter(isCommit)).toEqual([]);
  },
);
