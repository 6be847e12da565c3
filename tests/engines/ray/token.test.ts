import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** The token that is found in a home of its own. */
function tokenWith(variables: Record<string, string>, { file = "", option = "" } = {}) {
  const home = scratchDirectory();
  mkdirSync(join(home, ".ray"), { recursive: true });
  if (file) writeFileSync(join(home, ".ray/auth_token"), file);
  return tokenAt(home, variables, option);
}

function tokenAt(home: string, variables: Record<string, string>, option = "") {
  vi.stubEnv("HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  return createCluster(option ? { token: option } : {}, variables).token();
}

it("finds a token as Ray's own tools do, and takes a blank variable for none", () => {
  const path = join(scratchDirectory(), "token");
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "named\n");
  const all = { RAY_AUTH_TOKEN: "variable", RAY_AUTH_TOKEN_PATH: path };
  expect(tokenWith(all, { option: "option\n", file: "home" })).toBe("option");
  expect(tokenWith(all, { file: "home" })).toBe("variable");
  expect(tokenWith({ ...all, RAY_AUTH_TOKEN: "  " }, { file: "home" })).toBe("named");
  const blank = { RAY_AUTH_TOKEN: "  ", RAY_AUTH_TOKEN_PATH: "" };
  expect(tokenWith(blank, { file: "home\n" })).toBe("home");
  expect(tokenWith(blank)).toBeUndefined();
});

it("refuses what no header can carry, by the token's source and without the token", () => {
  const refusal = /^The Ray cluster token in RAY_AUTH_TOKEN contains a space, a line break or /;
  for (const token of ["s\u00e9cret", "sec\nret", "sec ret"]) {
    expect(() => tokenWith({ RAY_AUTH_TOKEN: token })).toThrow(refusal);
    expect(() => tokenWith({ RAY_AUTH_TOKEN: token })).not.toThrow(token);
  }
  expect(() => tokenWith({}, { file: "a b" })).toThrow(/ in \S+auth_token contains a space, /);
});

it("says which file it cannot read, unless there is none at the default path", () => {
  const home = scratchDirectory();
  mkdirSync(join(home, ".ray/auth_token"), { recursive: true });
  expect(() => tokenAt(home, {})).toThrow(
    /^Cannot read the Ray cluster's token from \S+auth_token \(EISDIR\)\. Make it a file /,
  );
  const RAY_AUTH_TOKEN_PATH = join(home, "none");
  expect(() => tokenAt(home, { RAY_AUTH_TOKEN_PATH })).toThrow(
    `Cannot read the Ray cluster's token from ${RAY_AUTH_TOKEN_PATH} (from RAY_AUTH_TOKEN_PATH). Check the path.`,
  );
});
