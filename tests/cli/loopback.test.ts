import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { createContainer, withoutLoopback } from "../container.ts";
import { startKit } from "../kit.ts";
import { createProject } from "../project.ts";

const ASK = `fetch(process.argv[1]).then(({ status }) => console.log(status));`;

test("where the loopback is ::1 alone, kit ui answers there; where it has no address, a sentence says so", async () => {
  const { enter } = await createContainer();
  const start = () => startKit(createProject(), ["ui", "--no-open", "--port", "4000"], {}, enter);
  withoutLoopback({ enter }, "127.0.0.1/8");
  const { child, printed, ended } = start();
  await printed(/^kit ui {2}http:\/\/localhost:4000\/ /m);
  const [program = "", ...within] = enter;
  const asked = [...within, process.execPath, "-e", ASK, "http://[::1]:4000/"];
  expect(execFileSync(program, asked, { encoding: "utf8" })).toBe("200\n");
  expect(await start().ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("kit: Port 4000 is taken.") as string,
  });
  child.kill("SIGTERM");
  await ended;

  withoutLoopback({ enter }, "::1/128");
  expect(await start().ended).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "kit: Cannot listen on ::1 port 4000: listen EADDRNOTAVAIL: address not available ::1:4000. Choose another with --host or --port.\n",
  });
});
