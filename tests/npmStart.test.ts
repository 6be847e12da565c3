import { once } from "node:events";
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
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

/** Runs `npm start` in a folder of the clone, and this once the page answers. Returns all that it printed. */
async function npmStart(
  cwd: string,
  use: (url: string) => Promise<void>,
  env: Record<string, string> = {},
): Promise<string> {
  const words = [...NPM, "start", "--", "--port", "0", "--no-open"];
  const { child, out, stop } = start(cwd, words, env);
  const ended = once(child, "close");
  const all = () => out.stdout + out.stderr;
  const urlIn = () => /http:\S+/.exec(out.stdout)?.[0];
  try {
    while (urlIn() === undefined) {
      await Promise.race([once(child.stdout, "data"), ended]);
      if (child.exitCode !== null) throw new Error(all());
    }
    await use(urlIn() ?? "");
  } finally {
    await stop();
  }
  return all();
}

/** What the page's button shows. */
async function train(url: string): Promise<string> {
  await (await fetch(`${url}api/manifest`)).text();
  const answer = await fetch(`${url}api/train`, { method: "POST" });
  return stripVTControlCharacters(await answer.text());
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
  let fromPage = "";
  const first = await npmStart(clone, async (url) => {
    // Less to train, and less to ask at a checkpoint.
    edit("trainer.ts", /(?<=maxSteps: )\d+/, "2");
    edit("trainer.ts", /(?<=exactMatch \},)/, " rows: 2,");
    fromPage = triedIn(await train(url));
  });
  expect(first).toContain("kit: installing quickstart/ …\n");
  expect(await paste(clone, fromPage)).toMatch(/\S\n$/);
  expect(fromPage).toMatch(/^npx kit infer \S+ --project quickstart$/);

  edit("trainer.ts", "date-normalizer", "edited");
  const trained = await run(quickstart, [...NPM, "run", "train"]);
  expect(trained).toMatch(/^job \S+ edited$/m);
  const fromTerminal = triedIn(trained);
  expect(fromTerminal).toMatch(/^npx kit infer \S+$/);
  expect(await paste(quickstart, fromTerminal)).toMatch(/\S\n$/);
  await run(quickstart, [...NPM, "run", "typecheck"]);

  const folder = join(clone, "docs");
  let fromSubfolder = "";
  const second = await npmStart(folder, async (url) => {
    fromSubfolder = triedIn(await train(url));
  });
  expect(second).not.toContain("installing");
  expect(await paste(folder, fromSubfolder)).toMatch(/\S\n$/);
});

test("npm start opens the page where no registry answers, and says what to run later", async () => {
  rmSync(quickstart, { recursive: true, force: true });
  const opened = async (url: string) => expect((await fetch(url)).status).toBe(200);
  // Nothing listens on the port of `discard`.
  const env = {
    npm_config_cache: join(clone, "empty"),
    npm_config_registry: "http://127.0.0.1:9",
  };
  expect(await npmStart(clone, opened, env)).toContain(
    "kit: npm install in quickstart/ failed, see above. Run it there for npx kit.\n",
  );
});

function edit(file: string, from: string | RegExp, to: string): void {
  const path = join(quickstart, "src", "kit", file);
  writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
}
