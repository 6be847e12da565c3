import { datasetPaths } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import type { AskedConfig } from "../../protocol/trainConfig.ts";
import { isUrl } from "../../protocol/url.ts";

/** URLs of the kinds that Ray Train's storage takes; `file:` must not name another machine. */
const TAKEN = /^(?!https?:|file:\/\/[^/])[a-z][^\p{Cc}\s]*$/iu;

/**
 * For an engine that reads datasets on this machine.
 * @throws KitError `CONFIG_INVALID`
 */
export function refuseUrls(engine: string, asked: AskedConfig): void {
  const [url] = urlsOf(asked);
  if (url === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `The ${engine} engine reads datasets on this machine, but ${url} is a URL. Name a file that you have downloaded; only the workers of ray() read URLs.`,
  );
}

/**
 * For an engine whose workers read URLs by Arrow's file systems.
 * @throws KitError `CONFIG_INVALID`
 */
export function checkUrls(asked: AskedConfig): void {
  for (const url of urlsOf(asked)) {
    if (url.includes("*")) {
      throw new KitError(
        "CONFIG_INVALID",
        `A dataset's URL names one file, so ${url} cannot be a pattern. Use a list of URLs.`,
      );
    }
    if (!TAKEN.test(url)) {
      throw new KitError(
        "CONFIG_INVALID",
        `The workers cannot read the dataset ${url}. Use a URL such as s3://bucket/train.jsonl or file:///data/train.jsonl, with %20 in place of a space.`,
      );
    }
  }
}

function urlsOf({ dataset, evalDataset }: AskedConfig): string[] {
  return [dataset, evalDataset].flatMap((one) => (one ? datasetPaths(one.path) : [])).filter(isUrl);
}
