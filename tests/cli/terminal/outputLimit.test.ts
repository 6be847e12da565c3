import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { spawnModule } from "../../process.ts";

test("beyond a limit, what the project's code prints is dropped, once told, and Kit's lines are not", async () => {
  const { child } = spawnModule(`
    const { limitOutput, print } = await dist("cli/terminal/print.js");
    limitOutput(10);
    console.log("12345678");
    print("step 1");
    console.log("more");
    console.error("more");
    await new Promise((done) => process.stdout.write("more", done));
    print("completed");
  `);
  expect(await text(child.stdout!)).toBe(
    "12345678\nstep 1\n\nwarning: the project's code printed too much; the rest of it is dropped\ncompleted\n",
  );
});
