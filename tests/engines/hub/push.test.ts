import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type HubSettings, hubSettings } from "../../../engines/hub/hubSettings.ts";
import { pushFiles } from "../../../engines/hub/push/pushFiles.ts";
import { openTarget } from "../../../engines/hub/push/targetRepo.ts";
import { type Hub, type HubRequest, startHub } from "../../hub/server.ts";
import { PART_BYTES } from "../../hub/writes.ts";
import { createProject } from "../../project.ts";

const REPO = "ada/tiny";

/** A hub, and a push of three files to it. */
async function createPushing() {
  const hub = await startHub();
  onTestFinished(hub.close);
  const folder = createProject();
  const contents = {
    "README.md": '---\ntags: ["kit"]\n---\n# Tiny\n',
    "model.safetensors": Buffer.alloc(2.5 * PART_BYTES, "weights"),
    "tokenizer.model": Buffer.alloc(PART_BYTES, "tokens"),
  };
  const paths = Object.fromEntries(
    Object.entries(contents).map(([name, content]) => {
      writeFileSync(join(folder, name), content);
      return [name, join(folder, name)];
    }),
  );
  const settings = {
    ...hubSettings({ HF_HOME: folder, HF_ENDPOINT: hub.endpoint }),
    token: "hf_w",
  };
  const { signal } = new AbortController();
  return {
    hub,
    contents,
    push: async (changes: Partial<HubSettings> = {}, repo = REPO, isPrivate = true) => {
      const target = await openTarget(repo, isPrivate, { ...settings, ...changes }, signal);
      return pushFiles(target, paths, { isPrivate, title: "Tiny", onNote: () => {} });
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
  const { hub, push, contents } = await createPushing();
  const { commit } = await push();
  hub.commit(REPO, {
    ...contents,
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
  await expect(push()).resolves.toMatchObject({ bytes: 3.5 * PART_BYTES + 29 });
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

test.each([
  [403, "No room", "ENDPOINT doesn't let this token write to ada/tiny (No room). Set HF_TOKEN to"],
  [413, "Too large", "ENDPOINT has no room for ada/tiny (Too large). Free storage there, or push"],
  [
    400,
    "Invalid card",
    "ENDPOINT refused to take ada/tiny (Invalid card). Check the name and your",
  ],
  [
    503,
    "Maintenance",
    "HOST could not take ada/tiny (Maintenance). Check the network, and run the",
  ],
])("status %i is one sentence, and nothing is uploaded", async (status, error, sentence) => {
  const { hub, push } = await createPushing();
  hub.intercept = ({ path }, response) => {
    if (!path.endsWith("/create")) return false;
    response.writeHead(status).end(JSON.stringify({ error }));
    return true;
  };
  const { host } = new URL(hub.endpoint);
  const message = sentence.replace("ENDPOINT", hub.endpoint).replace("HOST", host);
  await expect(push()).rejects.toThrow(message);
  expect(hub.requests.filter((request) => isStored(request) || isCommit(request))).toEqual([]);
});
