import { expect, it } from "vitest";
import { failureReason } from "../../../engines/ray/follow.ts";

/** Of Ray 2.58, with fewer lines. */
const NO_PACKAGE = `runtime_env setup failed: Failed to set up runtime environment.
Could not create the actor because its associated runtime env failed to be created.
[Node 192.0.2.2] Traceback (most recent call last):
  File "ray/_private/runtime_env/utils.py", line 105, in check_output_cmd
    raise SubprocessCalledProcessError(
ray._private.runtime_env.utils.SubprocessCalledProcessError: Run cmd[9] failed with the following details.
Command '['virtualenv/bin/python', '-m', 'pip', 'install']' returned non-zero exit status 1.
Last 50 lines of stdout:
    Looking in links: wheels
    WARNING: Location 'simple/kit-no-such-package-xyz/' is ignored: it is neither a file nor a directory.
    \u001b[31mERROR: Could not find a version that satisfies the requirement kit-no-such-package-xyz==9 (from versions: none)\u001b[0m
    ERROR: No matching distribution found for kit-no-such-package-xyz==9
`;
const exited = (code: number, log: string) =>
  `Job entrypoint command failed with exit code ${code}, last available logs (truncated to 20,000 chars):\n${log}`;
const LINE = `{"kit": 1, "seq": 3, "type": "beat"}\n`;

it.each([
  [
    NO_PACKAGE,
    "ERROR: Could not find a version that satisfies the requirement kit-no-such-package-xyz==9 (from versions: none)",
  ],
  [exited(-9, LINE), "its driver was killed by SIGKILL, as when its node runs out of memory"],
  [exited(-15, LINE), "its driver was killed by SIGTERM"],
  [
    exited(1, `${LINE}Traceback:\n  File "driver.py"\nOSError: No space left.\n${LINE}`),
    "its driver exited with code 1: OSError: No space left",
  ],
  [
    exited(127, "/bin/sh: 1: python: not found"),
    "its driver exited with code 127: /bin/sh: 1: python: not found",
  ],
  [exited(1, LINE), "its driver exited with code 1"],
  [
    "Job entrypoint command failed with exit code 3. No logs available.",
    "its driver exited with code 3",
  ],
  ["Job was intentionally stopped.", "Job was intentionally stopped"],
])("finds what happened: %#", (message, telling) => {
  expect(failureReason(message)).toBe(telling);
});
