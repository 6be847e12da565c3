import { print } from "./print.ts";

/**
 * With `--json`: stdout is JSON alone, and what the project's code prints goes to stderr.
 * @returns prints the JSON
 */
export function openJsonOutput(): (found: unknown) => void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return (found) => {
    stdout.write = write;
    print(JSON.stringify(found, undefined, 2));
  };
}
