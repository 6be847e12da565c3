import { once } from "node:events";
import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { linkDependencies } from "./clone.ts";
import { NPM, ROOT, createFolder, run, start } from "./packed.ts";

/** A clone as the README's first command finds it, but for its dependencies and its build, which are there. */
let clone = "";
let quickstart = "";
const ASKED = `"7th of March 1998"`;

beforeAll(() => {
  clone = createFolder();
  quickstart = join(clone, "quickstart");
  const others = /^(node_modules|quickstart|\..*)$/;
  for (const name of readdirSync(ROOT).filter((path) => !others.test(path))) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  }
  linkDependencies(clone);
  const stamps = "node_modules/.cache/kit";
  for (const name of readdirSync(join(ROOT, stamps)).filter((path) => path.startsWith("build-"))) {
    cpSync(join(ROOT, stamps, name), join(clone, stamps, name));
  }
});

afterAll(() => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }));

/** `npm start` in a folder of the clone, until its page answers. */
async function npmStart(cwd: string) {
  const { child, out, stop } = start(cwd, [...NPM, "start", "--", "--port", "0", "--no-open"]);
  const ended = once(child, "close");
  while (!/http:\S+/.test(out.stdout)) {
    const wait = Promise.race([once(child.stdout, "data"), ended]);
    await wait;
    if (child.exitCode !== null) throw new Error(out.stdout + out.stderr);
  }
  return { url: /http:\S+/.exec(out.stdout)?.[0] ?? "", out, stop };
}

/** What the page's button shows. */
async function train(url: string): Promise<string> {
  await (await fetch(`${url}api/manifest`)).text();
  return (await fetch(`${url}api/train`, { method: "POST" })).text();
}

/** The command that a run printed, to be pasted. */
function triedIn(output: string): string {
  const [, words] = /; try it: (.*)$/m.exec(output) ?? [];
  if (words === undefined) throw new Error(`Nothing to try in:\n${output}`);
  return words;
}

/** Asks by the words, as pasted in a folder with a question behind them. */
const paste = (cwd: string, words: string) => run(cwd, ["sh", "-c", `${words} ${ASKED}`]);

test("npm start installs the quickstart once, and what the page and the terminal print can be pasted", async () => {
  const first = await npmStart(clone);
  // Less to train, and less to ask at a checkpoint.
  edit("trainer.ts", /(?<=maxSteps: )\d+/, "2");
  edit("evaluate.ts", /(?<=ASKED = )\d+/, "2");
  const fromPage = triedIn(await train(first.url));
  await first.stop();
  expect(await paste(clone, fromPage)).toMatch(/\S\n$/);

  edit("trainer.ts", "date-normalizer", "edited");
  const trained = await run(quickstart, [...NPM, "run", "train"]);
  expect(trained).toMatch(/^job \S+ edited$/m);
  const fromTerminal = triedIn(trained);
  expect(await paste(quickstart, fromTerminal)).toMatch(/\S\n$/);
  await run(quickstart, [...NPM, "run", "typecheck"]);

  const installedAt = statSync(join(quickstart, "node_modules")).ctimeMs;
  const second = await npmStart(join(clone, "docs"));
  const fromSubfolder = triedIn(await train(second.url));
  await second.stop();
  expect(statSync(join(quickstart, "node_modules")).ctimeMs).toBe(installedAt);
  expect(second.out.stdout).not.toContain("install");
  expect(await paste(join(clone, "docs"), fromSubfolder)).toMatch(/\S\n$/);
  expect(fromPage).toMatch(/^npx kit infer \S+ --project quickstart$/);
});

function edit(file: string, from: string | RegExp, to: string): void {
  const path = join(quickstart, "src", "kit", file);
  writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
}
