import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * A new folder with these files, by their relative paths; removed when the test has finished.
 * @returns its absolute path, without symbolic links
 */
export function createProject(files: Record<string, string> = {}, parent = tmpdir()): string {
  const project = realpathSync(mkdtempSync(join(parent, "kit-test-")));
  onTestFinished(() => rmSync(project, { recursive: true, force: true, maxRetries: 5 }));
  for (const [path, content] of Object.entries(files)) {
    const target = join(project, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
  return project;
}
