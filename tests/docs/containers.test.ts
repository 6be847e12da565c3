import { expect, test } from "vitest";
import { createContainer } from "../container.ts";
import { CLI, createTinyProject } from "../kit.ts";
import { spawnProcess } from "../process.ts";
import { snippets } from "./containers.ts";

/** Each `kit` command of the document, with the arguments that its shell gets. */
const COMMANDS = snippets("sh").flatMap((code) =>
  [...code.matchAll(/npx kit ((?:"[^"]*"|[^"\n])+)/g)].map(([, command = ""]) => command),
);

/** The variables of a Codespaces shell. */
const CODESPACES = {
  CODESPACE_NAME: "fluffy-robot",
  GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN: "app.github.dev",
};

test("every way has its command", () => {
  expect(COMMANDS).toHaveLength(6);
});

test.each(COMMANDS)("in a container, kit %s serves the page", async (command) => {
  const { enter } = await createContainer();
  const [program = "", ...args] = [
    ...[...enter, "env", ...Object.entries(CODESPACES).map((pair) => pair.join("="))],
    ...["sh", "-c", `exec "$0" "$1" ${command}`, process.execPath, CLI],
  ];
  const kit = spawnProcess(program, args, createTinyProject());
  expect(await kit.line()).toMatch(
    /^kit ui {2}http:\/\/(localhost:4000\/|127\.0\.0\.1:4000\/\?token=\S+) /,
  );
});

test("the settings of the dev container forward the port of its command", () => {
  const [settings = ""] = snippets("json");
  expect(JSON.parse(settings)).toMatchObject({ forwardPorts: [4000] });
});
