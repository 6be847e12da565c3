import { defineStore } from "pinia";
import { shallowRef } from "vue";
import { ROUTES, isManifest } from "../../protocol/http.ts";
import { RequestError, readResponse, request, sentence } from "../api/request.ts";

export type ManifestState =
  | { state: "loading" }
  | { state: "found"; name: string }
  | { state: "empty" }
  | { state: "failed"; error: string };

/** The project's manifest as of the page load. */
export const useManifest = defineStore("manifest", () => {
  const manifest = shallowRef<ManifestState>({ state: "loading" });
  let hasRead = false;

  /** Reads it once per page load. */
  async function read(): Promise<void> {
    if (hasRead) return;
    hasRead = true;
    try {
      const response = await request(ROUTES.manifest);
      const { trainer } = await readResponse(response, ROUTES.manifest, isManifest);
      manifest.value = trainer ? { state: "found", name: trainer.name } : { state: "empty" };
    } catch (cause) {
      const isUnreachable = cause instanceof RequestError && cause.status === 0;
      const error = sentence(cause) + (isUnreachable ? " Then reload the page." : "");
      manifest.value = { state: "failed", error };
    }
  }

  return { manifest, read };
});
