import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProject } from "./project.ts";

/**
 * Turns into a program that sees no `/proc`, as on macOS.
 * @param ps whether there is a `ps` that still tells of processes, as there
 */
export function withoutProc({ ps }: { ps: boolean }): string[] {
  const folder = createProject();
  const [bin, root] = [join(folder, "bin"), join(folder, "root")];
  for (const made of [bin, root]) mkdirSync(made);
  writeFileSync(
    join(bin, "ps"),
    `#!/bin/sh\n${ps ? `exec chroot ${root} /bin/ps "$@"` : "exit 1"}\n`,
  );
  chmodSync(join(bin, "ps"), 0o755);
  const hide = `mount --rbind / ${root} && mount -t tmpfs none /proc && PATH=${bin}:$PATH exec "$@"`;
  return ["unshare", "--mount", "sh", "-c", hide, "sh"];
}
