import { defineStore } from "pinia";
import { shallowRef } from "vue";
import { fetchManifest } from "../api/manifest.ts";
import { RequestError, sentence } from "../api/request.ts";

export type ManifestState =
  | { state: "loading" }
  | { state: "found"; name: string }
  | { state: "empty" }
  | { state: "failed"; error: string };

/** What the project exposes, as it was when the page was loaded. */
export const useManifest = defineStore("manifest", () => {
  const manifest = shallowRef<ManifestState>({ state: "loading" });
  let isAsked = false;

  /** Once a load of the page. */
  async function read(): Promise<void> {
    if (isAsked) return;
    isAsked = true;
    try {
      const { trainer } = await fetchManifest();
      manifest.value = trainer ? { state: "found", name: trainer.name } : { state: "empty" };
    } catch (cause) {
      const unreachable = cause instanceof RequestError && cause.code === "unreachable";
      const error = sentence(cause) + (unreachable ? " Then reload the page." : "");
      manifest.value = { state: "failed", error };
    }
  }

  return { manifest, read };
});
