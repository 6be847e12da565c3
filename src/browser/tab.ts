import type { JobStatus } from "../../protocol/job.ts";

/** Name of the project's folder, which the server writes into the page. */
export function projectName(): string {
  return document.documentElement.dataset.project ?? "";
}

/** Sets the browser tab's title and icon, which show a job's status in a background tab too. */
export function showInTab(titles: readonly (string | undefined)[], status?: JobStatus): void {
  document.title = [...titles, projectName(), "Kit"].filter(Boolean).join(" · ");
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link) link.href = `favicon/${status ?? "none"}.svg`;
}
