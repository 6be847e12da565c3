import { strftime } from "./strftime.ts";

/**
 * The key in `tokenizer_config.json`, Kit's own, of the time at which a model's training began: what a
 * chat template that writes the date has written in its rows. A time of the clock, without a zone.
 */
const KEY = "template_date";

/** Undefined for a model that learned no date. */
export function templateDateIn(config: Record<string, unknown>): Date | undefined {
  const { [KEY]: written } = config;
  if (typeof written !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(written)) {
    return undefined;
  }
  const date = new Date(written);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The entry of a config. */
export function templateDateEntry(date: Date): Record<string, string> {
  return { [KEY]: writtenDate(date) };
}

/** A config without that entry. */
export function withoutTemplateDate(config: Record<string, unknown>): Record<string, unknown> {
  const { [KEY]: _, ...rest } = config;
  return rest;
}

export function writtenDate(date: Date): string {
  return strftime("%Y-%m-%dT%H:%M:%S", date);
}
