import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openPage } from "../browser.ts";
import { atMost } from "../goals.ts";
import { processMs } from "../machine.ts";
import { CLI } from "../paths.ts";
import type { Row } from "../row.ts";
import { startKitUi } from "../server.ts";

export const rest: Row = {
  number: 13,
  work: "server at rest, page open",
  async measure(scope) {
    const project = scope.folder();
    execFileSync(process.execPath, [CLI, "init", project], { stdio: "ignore" });
    const { url, child } = await startKitUi(scope, project);
    const { page } = await openPage(scope);
    await page.goto(url);
    await page.getByRole("button", { name: /^Run training: / }).waitFor();
    const built = () => statSync(join(project, ".kit", "build", "index.mjs")).mtimeMs;
    const before = { built: built(), ms: processMs(child.pid), at: performance.now() };
    const seconds = scope.pick({ full: 60, quick: 15, tiny: 0.5 });
    await delay(seconds * 1_000);
    const share = (processMs(child.pid) - before.ms) / (performance.now() - before.at);
    const rebuilt = built() === before.built ? 0 : 1;
    const oneRunOf = `${seconds} s`;
    return [
      { part: "share of a core", oneRunOf, ours: share * 100, unit: "%", goal: atMost(0.5) },
      { part: "rebuilt (1: yes)", oneRunOf, ours: rebuilt, unit: "", goal: atMost(0) },
    ];
  },
};
