import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { PYTHON, hasRay } from "./environment.ts";

const ENGINES = fileURLToPath(new URL("../../../engines", import.meta.url));
const PROGRAM = fileURLToPath(new URL("driver.py", import.meta.url));

it.runIf(hasRay).concurrent.each([
  [
    "take",
    /^The Python engine failed: ActorDiedError: .*\. See its log there: ray job logs kit-1\.$/,
  ],
  [
    "print",
    /: OSError: \[Errno 28\] No space left on device\. See its log there: ray job logs kit-1\.$/,
  ],
])(
  "fails a job whose driver cannot %s what the workers report, and leaves none of them training",
  async (fails, message) => {
    const { code, messages } = await runDriver(fails);
    expect(code).toBe(1);
    expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, i) => i + 1));
    const last = messages.at(-1) ?? {};
    expect(last).toMatchObject({ type: "failed", code: "WORKER_FAILED" });
    expect(last["message"]).toMatch(message);
  },
);

/** The driver's exit code and its messages. */
async function runDriver(fails: string) {
  return new Promise<{ code: unknown; messages: Record<string, unknown>[] }>((resolve) => {
    execFile(PYTHON, ["-B", PROGRAM, ENGINES, fails], (error, stdout) => {
      const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
      const messages = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      resolve({ code: error?.code ?? 0, messages });
    });
  });
}
