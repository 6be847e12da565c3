import { settle } from "./backend.ts";

export function setHidden(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
}

/** Hides the page's tab, or shows it again. */
export async function hide(hidden: boolean): Promise<void> {
  setHidden(hidden);
  document.dispatchEvent(new Event("visibilitychange"));
  await settle();
}
