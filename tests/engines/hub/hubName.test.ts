import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseHubName } from "../../../engines/hub/hubName.ts";
import { hubSettings } from "../../../engines/hub/hubSettings.ts";

test.each([
  ["org/name", "main"],
  ["HuggingFaceTB/SmolLM2-135M-Instruct", "main"],
  ["a/b", "main"],
  ["org/name@v1.0", "v1.0"],
  ["org/name@refs/pr/1", "refs/pr/1"],
  [`org/name@${"a".repeat(40)}`, "a".repeat(40)],
])("%s is a model's name on the hub", (name, revision) => {
  expect(parseHubName(name)).toEqual({ repoType: "model", repo: name.split("@")[0], revision });
});

test.each([
  ...["name", "org/", "/name", "org/na me", "a/b/c", "org/../x", "../x", "org/-x", "org/x."],
  ...["org/a--b", "org/x.git", "org/name@", "org/name@../x", "org/name@a b", "org/name@a@b", ""],
])("%j is none", (name) => {
  expect(parseHubName(name)).toBeUndefined();
});

test("settings are found where Python's huggingface_hub finds them", () => {
  const cacheOf = (env: Record<string, string>) => hubSettings(env).cache;
  expect(cacheOf({})).toBe(join(homedir(), ".cache/huggingface/hub"));
  expect(cacheOf({ XDG_CACHE_HOME: "/x" })).toBe("/x/huggingface/hub");
  expect(cacheOf({ XDG_CACHE_HOME: "/x", HF_HOME: "~/hf" })).toBe(join(homedir(), "hf/hub"));
  expect(cacheOf({ HF_HOME: "/x", HF_HUB_CACHE: "$BIG/${DEEP}/hub", BIG: "/b", DEEP: "d" })).toBe(
    "/b/d/hub",
  );
  expect(hubSettings({}).endpoint).toBe("https://huggingface.co");
  expect(hubSettings({ HF_ENDPOINT: "http://mirror/hf/" }).endpoint).toBe("http://mirror/hf");
  expect(() => hubSettings({ HF_ENDPOINT: "mirror" })).toThrow(
    /^HF_ENDPOINT must be a URL such as/,
  );
  for (const secret of [
    ...["https://me:hf_SECRET@mirror", "ftp://hf_SECRET@mirror"],
    ...["me:hf_SECRET@mirror", "hf_SECRET@"],
  ]) {
    expect(() => hubSettings({ HF_ENDPOINT: secret })).toThrow(
      /^HF_ENDPOINT has a user name or a password in it\. Remove it, and set HF_TOKEN to a token instead\.$/,
    );
  }
  const tokenOf = (env: Record<string, string>) => hubSettings({ HF_HOME: "/none", ...env }).token;
  expect(tokenOf({})).toBeUndefined();
  expect(tokenOf({ HF_TOKEN: " hf_a\n" })).toBe("hf_a");
  expect(tokenOf({ HF_TOKEN: "hf_a", HF_HUB_DISABLE_IMPLICIT_TOKEN: "1" })).toBeUndefined();
  const timeoutOf = (value: string) =>
    hubSettings({ HF_HUB_DOWNLOAD_TIMEOUT: value, HF_HOME: "/none" }).timeoutMs;
  expect(["", "0.5", "3000000", "Infinity"].map(timeoutOf)).toEqual([
    ...[10_000, 500, 2_147_483_647, 2_147_483_647],
  ]);
  for (const value of ["-1", "0", "soon"]) {
    expect(() => timeoutOf(value)).toThrow(
      `HF_HUB_DOWNLOAD_TIMEOUT must be a number of seconds above 0, but is "${value}".`,
    );
  }
  const isOffline = (value: string) => hubSettings({ HF_HUB_OFFLINE: value }).isOffline;
  expect(["1", "true", "ON", "0", ""].map(isOffline)).toEqual([true, true, true, false, false]);
});
