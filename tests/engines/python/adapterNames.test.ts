import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ENGINE_FOLDER, ENV, PYTHON, hasPython } from "./environment.ts";

test.runIf(hasPython)("an adapter's tensors are applied under any name, or refused", () => {
  const script = fileURLToPath(new URL("adapterNames.py", import.meta.url));
  const printed = execFileSync(PYTHON, ["-B", script, ENGINE_FOLDER], {
    encoding: "utf8",
    env: { ...process.env, ...ENV },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { "of another base": refused, ...differences } = JSON.parse(printed) as Record<
    string,
    unknown
  >;
  for (const [form, difference] of Object.entries(differences))
    expect(difference, form).toBeLessThan(1e-4);
  expect(Object.keys(differences)).toHaveLength(3);
  expect(refused).toMatch(
    /^FOLDER has \S*layers\.7\.\S+, which matches nothing in its base\. Use the base that the adapter was trained on\.$/,
  );
});
