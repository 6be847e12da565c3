import { settle } from "./backend.ts";

export function setHidden(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
}

/** Puts the page behind another tab, or in front again. */
export async function hide(hidden: boolean): Promise<void> {
  setHidden(hidden);
  document.dispatchEvent(new Event("visibilitychange"));
  await settle();
}
