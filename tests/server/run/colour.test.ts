import { afterEach, expect, test, vi } from "vitest";
import { outputLog, startWith } from "../standInRun.ts";

/** As in a terminal, `console.log` colours values other than strings. */
const PROGRAM = `console.log({ is: true });`;

async function printedIn(env: NodeJS.ProcessEnv): Promise<string> {
  for (const name of ["FORCE_COLOR", "NO_COLOR", "NODE_DISABLE_COLORS"]) {
    vi.stubEnv(name, env[name]);
  }
  const { train, project } = await startWith(PROGRAM);
  const shown = await (await train()).text();
  expect(shown).toBe(String(outputLog(project)));
  return shown;
}

afterEach(() => vi.unstubAllEnvs());

test.each([{}, { NO_COLOR: "" }, { NO_COLOR: "", NODE_DISABLE_COLORS: "" }])(
  "a run prints in colour as in a terminal, and adds nothing: %o",
  async (env) => {
    expect(await printedIn(env)).toBe("{ is: \x1b[33mtrue\x1b[39m }\n");
  },
);

test.each([
  { NO_COLOR: "1" },
  { NO_COLOR: "0" },
  { NODE_DISABLE_COLORS: "1" },
  { FORCE_COLOR: "0" },
  { FORCE_COLOR: "0", NO_COLOR: "1" },
])("colours stay off where the environment says so: %o", async (env) => {
  expect(await printedIn(env)).toBe("{ is: true }\n");
});
