import { expect, test } from "vitest";
import { artifactNames, run, tinyConfig } from "../run.ts";
import { scratchDirectory } from "../scratch.ts";

test("a short dataset does not pay for a long context", async () => {
  const config = tinyConfig({ model: { layers: 1, heads: 2, width: 16, context: 8192 } });
  const { artifacts } = await run(config);
  expect(artifacts).toHaveLength(2);
});

test("a wrong config is one clear error, with its code, and leaves nothing", async () => {
  const directory = scratchDirectory();
  const failing = (config: Parameters<typeof tinyConfig>[0]) =>
    run(tinyConfig(config), {}, directory);
  await expect(failing({ model: "kit/huge" })).rejects.toMatchObject({
    name: "KitError",
    code: "MODEL_UNKNOWN",
    message: expect.stringContaining("kit/nano, kit/small"),
  });
  await expect(
    failing({ model: { layers: 64, heads: 8, width: 4096, context: 64 } }),
  ).rejects.toMatchObject({
    code: "OUT_OF_MEMORY",
    message: expect.stringMatching(/needs 1\d\d\.\d\d GiB .* Lower maxLength or the model/),
  });
  await expect(failing({ maxLength: 49 })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(
      '"maxLength" must be at most the model\'s context of 48 tokens, but is 49.',
    ),
  });
  expect(artifactNames(directory)).toEqual([]);
});
