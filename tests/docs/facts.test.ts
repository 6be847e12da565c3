import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createTrainer } from "kit";
import * as v from "valibot";
import { expect, test } from "vitest";
import { EXIT_CODE } from "../../cli/process/exitCode.ts";
import {
  END_OF_STREAM,
  OWNER_DETACHED,
  OWNER_RETURNED,
  PAGE_EVENTS,
  TIME,
} from "../../protocol/event.ts";
import { EVENT_SCHEMAS } from "../../protocol/eventSchemas.ts";
import { PLAIN_OPTIONS } from "../../protocol/trainerOptions.ts";
import { type LoraOptions, checkOptions } from "../../sdk/options.ts";
import { ROUTE_TABLE } from "../../server/routeTable.ts";
import { CLI, runKit } from "../kit.ts";
import { ROOT, codeIn, readPage, rowsOf, snippetsOf } from "./snippets.ts";

const PAGES = readdirSync(join(ROOT, "docs")).filter((file) => file.endsWith(".md"));
const DOCUMENTS = [
  ...PAGES.map((page) => `docs/${page}`),
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
];
const DATASET = { type: "jsonl", path: "data/train.jsonl" } as const;

/** Where their doc comments stand. */
const SOURCES_OF_OPTIONS = [
  "protocol/trainerOptions.ts",
  "protocol/trainConfig.ts",
  "sdk/options.ts",
];

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The names that an error of `createTrainer` lists. */
function namesIn(makeError: () => unknown): string[] {
  let message = "";
  try {
    makeError();
  } catch (error) {
    message = String(error);
  }
  return /takes (.*)\.$/.exec(message)?.[1]?.split(", ") ?? [];
}

test("trainer.md has all options of a trainer, with their defaults", () => {
  const rows = rowsOf(readPage("trainer.md"), "## Options").slice(1);
  // @ts-expect-error: what it lists is what is asked for
  const known = namesIn(() => createTrainer({ name: "a", dataset: DATASET, nothing: 1 }));
  expect(rows.flatMap(([name]) => codeIn(name)).toSorted()).toEqual(known.toSorted());
  const { config: defaults } = checkOptions({ name: "a", dataset: DATASET });
  for (const [name, value] of rows) {
    const key = codeIn(name)[0] as keyof typeof defaults;
    if (["name", "dataset", "engine", "callbacks", "abortSignal"].includes(key)) continue;
    const [shown] = codeIn(value);
    const leader = known.find((other) => other !== key && follows(key, other));
    if (leader !== undefined) {
      expect(shown, key).toBe(leader);
      continue;
    }
    expect(shown === undefined ? undefined : JSON.parse(shown), key).toEqual(
      defaults[key] ?? undefined,
    );
  }
});

/** Whether an option takes its default from another one, a number. */
function follows(option: string, other: string): boolean {
  const options = { name: "a", dataset: DATASET, evalDataset: DATASET };
  const { config: defaults } = checkOptions(options);
  if (typeof defaults[other as keyof typeof defaults] !== "number") return false;
  const { schema } = PLAIN_OPTIONS[other as keyof typeof PLAIN_OPTIONS];
  if (!v.is(schema, 7)) return false;
  const { config } = checkOptions({ ...options, [other]: 7 });
  return config[option as keyof typeof config] === 7;
}

test("the learningRate of a checkpoint and of its adapter stand where the default does", () => {
  const rates = [undefined, { r: 1, alpha: 1 }].map((lora) => {
    const { config } = checkOptions({ name: "a", dataset: DATASET, model: "./base", lora });
    return String(config.learningRate);
  });
  const row = rowsOf(readPage("trainer.md"), "## Options").find(
    ([name]) => codeIn(name)[0] === "learningRate",
  );
  expect(codeIn(row?.[2])).toEqual([rates[0], "model", rates[1], "lora"]);
  expect(read("protocol/trainerOptions.ts")).toContain(
    `For a pretrained model ${rates[0]}, for an adapter of one ${rates[1]}.`,
  );
});

test("an option's doc comment states its real default", () => {
  const configOf = (lora: LoraOptions) =>
    checkOptions({ name: "a", dataset: DATASET, lora }).config;
  const targetModules = "all-linear";
  expect(configOf({})).toEqual(configOf({ targetModules }));
  const config = configOf({});
  const defaults: Record<string, unknown> = { ...config, ...config.lora, targetModules };
  const source = SOURCES_OF_OPTIONS.map(read).join("");
  const comments = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+(\w+)\??:/g)];
  const stated = comments.flatMap(([, comment = "", name = ""]) => {
    const value = /Default (?:`(.*)`|([\d.]+))\./.exec(comment);
    return value ? [[name, JSON.parse(value[1] ?? value[2] ?? "") as unknown]] : [];
  });
  expect(stated.map(([name]) => name)).toEqual(
    expect.arrayContaining(["maxSteps", "learningRate", "seed", "model", "targetModules"]),
  );
  for (const [name, value] of stated) expect(defaults[String(name)], String(name)).toEqual(value);
});

test("the doc comments of an option state the same default wherever they stand", () => {
  const source = SOURCES_OF_OPTIONS.slice(0, 2).map(read).join("");
  const comments = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+(\w+)\??:/g)];
  const stated = new Map<string, Set<string>>();
  for (const [, comment = "", name = ""] of comments) {
    const said = /\bDefault:? ([^.]*(?:\.\d[^.]*)*)\./.exec(comment.replace(/\s*\n\s*\*\s*/g, " "));
    if (said) stated.set(name, (stated.get(name) ?? new Set()).add(said[1] ?? ""));
  }
  expect(stated.size).toBeGreaterThan(10);
  for (const [name, defaults] of stated) expect([...defaults], name).toHaveLength(1);
});

test("callbacks.md has all callbacks", () => {
  const known = namesIn(() =>
    // @ts-expect-error: what it lists is what is asked for
    createTrainer({ name: "a", dataset: DATASET, callbacks: { nothing: () => undefined } }),
  );
  const rows = rowsOf(readPage("callbacks.md")).slice(1);
  expect(rows.flatMap(([name]) => codeIn(name)).toSorted()).toEqual(known.toSorted());
});

/** As `kit --help` lists them; `kit python` has but one of its own. */
const COMMANDS = execFileSync(process.execPath, [CLI, "--help"], { encoding: "utf8" })
  .split("Commands:")[1]!
  .split("\n\n")[0]!
  .split("\n")
  .flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? [])
  .filter((name) => name !== "help")
  .map((name) => (name === "python" ? "python install" : name));

/** Of several commands. */
const SHARED_OPTIONS = rowsOf(readPage("cli.md"), "# The command line").slice(1);

/** @param help what the command prints */
function headingOf(command: string, help: string): string {
  const [, usage = ""] = /^Usage: kit [a-z ]+\[options\] ?(.*)$/m.exec(help) ?? [];
  return `## ${`kit ${command} ${usage}`.trim().replace("<", "\\<")}`;
}

test.each(COMMANDS)("cli.md has the options of kit %s, with their defaults", async (command) => {
  const { stdout } = await runKit(ROOT, [...command.split(" "), "--help"]);
  const options = [...stdout.matchAll(/^ {2}(-.+?)(?: {2,}|$)/gm)].map(([, option]) => option);
  const shared = SHARED_OPTIONS.filter(([option]) => options.includes(codeIn(option)[0] ?? ""));
  const shown = [...shared, ...rowsOf(readPage("cli.md"), headingOf(command, stdout))];
  const named = shown.flatMap(([option]) => codeIn(option));
  expect([...named, "-h, --help"].toSorted()).toEqual(options.toSorted());
  const rows = shown.map((row) => row.join(" | "));
  const defaults = [...stdout.matchAll(/^ {2}(-.+?) {2,}[^]*?(?=\n {2}-|\n\n)/gm)].flatMap(
    ([text, option = ""]) => {
      const [, value] = /\(default: ([^)]*)\)/.exec(text.replace(/\s+/g, " ")) ?? [];
      return value === undefined ? [] : [[option, value.replaceAll('"', "`")]];
    },
  );
  expect(defaults.length > 0).toBe(stdout.includes("(default:"));
  for (const [option, value] of defaults) {
    const described = rows.filter((row) => codeIn(row)[0] === option);
    expect(described.length, option).toBeGreaterThan(0);
    for (const row of described) expect(row, option).toContain(`Default: ${value}`);
  }
});

test("cli.md has the exit codes", () => {
  const { completed, failed, usageError, cancelled } = EXIT_CODE;
  const rows = rowsOf(readPage("cli.md"), "## Exit codes").slice(1);
  expect(rows.map(([code, meaning = ""]) => [Number(code), meaning.split(",")[0]])).toEqual([
    [completed, "completed"],
    [failed, "failed"],
    [usageError, "wrong use"],
    [cancelled, "cancelled"],
  ]);
});

test("http.md has the server's routes, and the events of a stream with their data", () => {
  const page = readPage("http.md");
  const routes = rowsOf(page, "# HTTP and events").flatMap(([route]) => codeIn(route));
  expect(routes.toSorted()).toEqual(Object.keys(ROUTE_TABLE).toSorted());

  const rows = rowsOf(page, "## Events").slice(1);
  const sent = [...PAGE_EVENTS, TIME, OWNER_DETACHED, OWNER_RETURNED, END_OF_STREAM];
  expect(rows.flatMap(([event]) => codeIn(event)).toSorted()).toEqual(sent.toSorted());
  const dataOf = new Map(rows.map(([event, data]) => [codeIn(event)[0], codeIn(data)]));
  for (const event of PAGE_EVENTS) {
    expect(dataOf.get(event), event).toEqual(Object.keys(EVENT_SCHEMAS[event].entries));
  }
});

test("the picture of the house has the arrows that the lint rule holds", () => {
  const picture = snippetsOf(readPage("how-it-works.md"))[0]?.code ?? "";
  const drawn = [...picture.matchAll(/^ {2}(\w+) --> (.+)$/gm)].flatMap(([, from, to = ""]) =>
    to.split(" & ").map((folder) => `${from} ${folder}`),
  );
  const rule = /const ARROWS = \{([\s\S]*?)\n\};/.exec(read("eslint.config.js"))?.[1] ?? "";
  const allowed = [...rule.matchAll(/(\w+): \[(.*)\]/g)].flatMap(([, from, to = ""]) =>
    [...to.matchAll(/"(\w+)"/g)].map(([, folder]) => `${from} ${folder}`),
  );
  expect(drawn.toSorted()).toEqual(allowed.toSorted());
});

test("scripts that the documents name are there", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  for (const document of ["README.md", "CONTRIBUTING.md"]) {
    for (const [, script = ""] of read(document).matchAll(/npm run ([\w:]+)/g)) {
      expect(Object.keys(scripts), document).toContain(script);
    }
  }
});

test.each(DOCUMENTS)("links of %s lead somewhere", (document) => {
  const forms = /\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g;
  const links = [...read(document).matchAll(forms)].map(([, link, source = ""]) => link ?? source);
  for (const link of links.filter((target) => !/^https?:/.test(target))) {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? document : relative(ROOT, join(ROOT, dirname(document), path));
    expect(existsSync(join(ROOT, target)), `${document}: ${link}`).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), `${document}: ${link}`).toContain(anchor);
  }
});

test("the index leads to every page", () => {
  for (const page of PAGES.filter((name) => name !== "README.md")) {
    expect(readPage("README.md")).toContain(`](${page})`);
  }
});

test("platforms.md names a command for each cell, of tests and scripts that there are", () => {
  const page = readPage("platforms.md");
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const cells = rowsOf(page)
    .slice(1)
    .flatMap(([, ...shown]) => shown);
  const letters = cells.flatMap(
    (cell) => /^(?:gate|emulated|injected) ([A-Z])$/.exec(cell)?.[1] ?? [],
  );
  expect(letters.length).toBe(cells.filter((cell) => cell !== "never").length);
  const commands = [...page.matchAll(/^- ([A-Z]): `(.*?)`/gm)].map(([, letter, command]) => [
    letter,
    command,
  ]);
  expect(commands.map(([letter]) => letter)).toEqual([...new Set(letters)].toSorted());
  for (const command of codeIn(page).filter((code) => /^npm run|^npx vitest/.test(code))) {
    const [, script] = /^npm run (\S+)/.exec(command) ?? [];
    const paths = command.match(/\btests\/\S+/g) ?? [];
    expect(script === undefined ? paths.length : scripts[script], command).toBeTruthy();
    for (const path of paths) expect(existsSync(join(ROOT, path)), command).toBe(true);
    const [, title] = / -t (\w+)/.exec(command) ?? [];
    if (title !== undefined) expect(read(paths[0]!)).toContain(title);
  }
});

/** As GitHub makes them. */
function anchorsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}
