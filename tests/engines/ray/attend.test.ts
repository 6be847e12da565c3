import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { attend } from "../../../engines/ray/attend.ts";
import type { Remote } from "../../../engines/ray/remote.ts";
import { readStored } from "../../../engines/ray/stored.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { createFarRemote, recordedArtifact } from "./farArtifact.ts";

it("brings adapters home before their event; of whole models it keeps a record of where they are", async () => {
  const { remote, asked } = createFarRemote();
  const { address: _, ...stored } = readStored(recordedArtifact())!;
  const savedAt = (step: number, kind: string) => ({
    ...{ type: "event", stored },
    event: { event: "checkpoint.saved", data: { step, kind, path: `artifacts/step-${step}` } },
  });
  const job = [savedAt(1, "adapter"), savedAt(2, "model"), { type: "done" }]
    .map((message, i) => `${JSON.stringify({ kit: 1, seq: i + 1, ...message })}\n`)
    .join("");
  const directory = scratchDirectory();
  const seen: string[][] = [];
  const listened: Remote = {
    ...remote,
    log: (id, ...more) =>
      id === "1" ? Readable.from([Buffer.from(job)]) : remote.log(id, ...more),
  };
  await attend(listened, {
    id: "1",
    options: {
      ...{ directory, config: {} as TrainConfig, signal: new AbortController().signal },
      onEvent: () => seen.push(readdirSync(join(directory, "artifacts")).toSorted()),
    },
  });
  const first = ["step-1", "step-1.stored.json"];
  expect(seen).toEqual([first, [...first, "step-2.stored.json"]]);
  expect(existsSync(join(directory, "artifacts/step-1/optimizer.pt"))).toBe(true);
  expect(asked.commands).toHaveLength(1);
  for (const name of ["step-1", "step-2"]) {
    expect(readStored(join(directory, "artifacts", name))).toEqual({ address: "far", ...stored });
  }
});
