import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { PYTHON, hasRay } from "./environment.ts";

const ENGINES = fileURLToPath(new URL("../../../engines", import.meta.url));
const SECRET = "0f8fad5b";
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
  ["trace", /^no$/],
])(
  "fails a job when %s fails, leaves none of its workers training, and prints no line that looks like a message",
  async (fails, message) => {
    const { code, messages, lines } = await runDriver(fails);
    expect(code).toBe(1);
    expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, i) => i + 1));
    const last = messages.at(-1) ?? {};
    expect(last).toMatchObject({ type: "failed", code: "WORKER_FAILED" });
    expect(last["message"]).toMatch(message);
    // A traceback has a text that looks like a message.
    expect(lines.some((line) => line.includes(`"done"`))).toBe(fails !== "print");
    expect(lines.filter((line) => line.startsWith("{"))).toHaveLength(messages.length);
    expect(messages.map(({ secret }) => secret)).toEqual(messages.map(() => SECRET));
  },
);

interface Ran {
  code: unknown;
  messages: Record<string, unknown>[];
  /** Of its log, which has its stdout and its stderr. */
  lines: string[];
}

async function runDriver(fails: string): Promise<Ran> {
  const env = { ...process.env, KIT_JOB_SECRET: SECRET };
  return new Promise((resolve) => {
    execFile(PYTHON, ["-B", PROGRAM, ENGINES, fails], { env }, (error, stdout, stderr) => {
      const own = stdout.split("\n").filter((line) => line.startsWith("{"));
      const messages = own.map((line) => JSON.parse(line) as Record<string, unknown>);
      const lines = (stdout + stderr).split(/\r\n|[\r\n]/);
      resolve({ code: error?.code ?? 0, messages, lines });
    });
  });
}
