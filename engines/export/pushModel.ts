import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remove } from "../../disk/move.ts";
import type { ExportFormatName } from "../../protocol/exportFormat.ts";
import type { PushOptions, PushResult, PushedModel } from "../../protocol/push.ts";
import { json, withoutLocations } from "../checkpoint/sidecarFiles.ts";
import { parseHubName } from "../hub/hubName.ts";
import { hubSettings } from "../hub/hubSettings.ts";
import { pushFiles } from "../hub/push/pushFiles.ts";
import {
  type TargetRepo,
  describeBase,
  isPublicDataset,
  openTarget,
} from "../hub/push/targetRepo.ts";
import { ADAPTER_CONFIG, ADAPTER_FILE, recordedBase } from "../lora/peftConfig.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import {
  CONFIG_FILE,
  SIDECAR_FILES,
  TOKENIZER_CONFIG,
  TEMPLATE_FILE,
  WEIGHTS_INDEX,
  listedWeights,
} from "../modelFiles/names.ts";
import { exportModel } from "./exportModel.ts";

/**
 * Pushes a checkpoint to the hub with a card, in one commit. Merges an adapter whose base isn't on the hub.
 * @throws KitError as `exportModel` and `pushFiles`
 */
export async function pushModel(checkpoint: string, options: PushOptions): Promise<PushResult> {
  const { repo, onNote = () => {}, signal = new AbortController().signal } = options;
  const target = await openTarget(repo, options.isPrivate, hubSettings(), signal);
  if (target.existing) {
    onNote(`${repo} exists, and stays ${target.existing.isPrivate ? "private" : "public"}`);
  }
  const work = mkdtempSync(join(tmpdir(), "kit-push-"));
  try {
    const config = readConfig(join(checkpoint, ADAPTER_CONFIG), "optional");
    const adapterBase = config && parseHubName(recordedBase(config) ?? "")?.repo;
    const base = adapterBase ?? parseHubName(options.startedFrom ?? "")?.repo;
    const isMerged = config !== undefined && adapterBase === undefined;
    if (isMerged && !options.format) {
      onNote("the adapter's base is not on the hub: pushing the whole model");
    }
    const format = options.format ?? (isMerged ? "safetensors" : undefined);
    const paths = format
      ? await exportedFiles(checkpoint, join(work, "model"), { ...options, format })
      : filesOf(checkpoint);
    for (const name of [CONFIG_FILE, TOKENIZER_CONFIG]) {
      const path = paths[name];
      if (path) writeFileSync((paths[name] = join(work, name)), withoutLocationsIn(path));
    }
    const kind = format === "gguf" ? "gguf" : paths[ADAPTER_CONFIG] ? "adapter" : "model";
    const model = await describe(target, kind, paths, { base, dataset: options.dataset });
    if (model.base?.isGated) {
      onNote(`warning: ${model.base.repo} is gated. Its terms also apply to what you push.`);
    }
    const card = join(work, "README.md");
    writeFileSync(card, options.card(model));
    return await pushFiles(target, { ...paths, "README.md": card }, { ...options, onNote });
  } finally {
    remove(work);
  }
}

/** A config's text, unchanged if it names no place on this machine. */
function withoutLocationsIn(path: string): string | Uint8Array {
  const config = readConfig(path);
  const kept = withoutLocations(config);
  return Object.keys(kept).length < Object.keys(config).length ? json(kept) : readFileSync(path);
}

/** Several types of GGUF files may share a repository, so that the type is in the name. */
async function exportedFiles(
  checkpoint: string,
  folder: string,
  options: PushOptions & { format: ExportFormatName },
): Promise<Record<string, string>> {
  const { format, type, signal, onNote } = options;
  const name = type ? `${options.name}-${type}` : options.name;
  const fetching = { ...(signal && { signal }), ...(onNote && { onNote }) };
  const { path } = await exportModel(checkpoint, folder, {
    ...fetching,
    format,
    name,
    ...(type && { type }),
  });
  return format === "gguf" ? { [`${name}.gguf`]: path } : filesOf(folder);
}

/** The files that load a model: neither the optimizer's, nor the log. */
function filesOf(folder: string): Record<string, string> {
  const names = [
    ...[ADAPTER_CONFIG, ADAPTER_FILE, CONFIG_FILE, WEIGHTS_INDEX],
    ...[...listedWeights(folder), ...SIDECAR_FILES],
  ];
  const entries = names.map((name): [string, string] => [name, join(folder, name)]);
  return Object.fromEntries(entries.filter(([, path]) => existsSync(path)));
}

async function describe(
  { request }: TargetRepo,
  kind: PushedModel["kind"],
  paths: Record<string, string>,
  { base, dataset }: { base: string | undefined; dataset: string | undefined },
): Promise<PushedModel> {
  const tokenizer = paths[TOKENIZER_CONFIG];
  return {
    kind,
    file: kind === "gguf" ? Object.keys(paths)[0] : undefined,
    base: base === undefined ? undefined : await describeBase(base, request),
    hasChatTemplate:
      paths[TEMPLATE_FILE] !== undefined ||
      (tokenizer !== undefined && readConfig(tokenizer)["chat_template"] !== undefined),
    isDatasetPublic: dataset !== undefined && (await isPublicDataset(dataset, request)),
  };
}
