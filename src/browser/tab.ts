import type { JobStatus } from "../../protocol/job.ts";

// Not inlined: the page's Content-Security-Policy refuses data: images.
const ICONS = import.meta.glob<string>("../assets/favicon/*.svg", {
  query: "?no-inline",
  import: "default",
  eager: true,
});

/** Sets the browser tab's title and icon, which show a job's status in a background tab too. */
export function showInTab(titles: readonly (string | undefined)[], status?: JobStatus): void {
  document.title = [...titles, "Kit"].filter(Boolean).join(" · ");
  const icon = ICONS[`../assets/favicon/${status ?? "none"}.svg`];
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link && icon) link.href = icon;
}
