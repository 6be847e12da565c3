import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { bringHome } from "../../../engines/ray/home.ts";
import type { Stored } from "../../../engines/ray/messages.ts";
import type { Remote } from "../../../engines/ray/remote.ts";
import { scratchDirectory, scratchFile } from "../embedded/scratch.ts";

const NAME = "model.safetensors";
const way = { remote: {} as Remote, signal: new AbortController().signal };

it("brings a checkpoint home whole, or leaves nothing of it", async () => {
  const file = scratchFile(NAME, "weights");
  const artifacts = join(scratchDirectory(), "artifacts");
  const whole = join(artifacts, "step-1");
  await bringHome(storedAt(file, "weights"), whole, way);
  expect(readFileSync(join(whole, NAME), "utf8")).toBe("weights");
  const damaged = join(artifacts, "step-2");
  await expect(bringHome(storedAt(file, "others"), damaged, way)).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: `${join(damaged, NAME)} did not arrive whole from the cluster. Try again: the checkpoint is whole in its storage.`,
  });
  expect(existsSync(damaged)).toBe(false);
  expect(readdirSync(artifacts).filter((name) => name.startsWith("step-"))).toEqual(["step-1"]);
});

function storedAt(file: string, content: string): Stored {
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { path: dirname(file), files: { [NAME]: { size: content.length, sha256 } } };
}
