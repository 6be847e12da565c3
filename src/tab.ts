import type { JobStatus } from "../protocol/job.ts";

// Files of their own: the page's policy lets no image in that is written into the page.
const ICONS = import.meta.glob<string>("./assets/favicon/*.svg", {
  query: "?no-inline",
  import: "default",
  eager: true,
});

/** Tells by the browser tab's title and icon what it shows, without its being opened. */
export function showInTab(titles: readonly (string | undefined)[], status?: JobStatus): void {
  document.title = [...titles, "Kit"].filter(Boolean).join(" · ");
  const icon = ICONS[`./assets/favicon/${status ?? "none"}.svg`];
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link && icon) link.href = icon;
}
