import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

export default defineConfig({
  // Every component is `<script setup>`.
  plugins: [vue({ features: { optionsAPI: false } })],
  // Relative, so that the page works behind any path prefix.
  base: "./",
  publicDir: "src/public",
  // One script, so nothing to preload.
  build: {
    outDir: "dist/page",
    // Keeps the source's syntax; Vue's is older.
    target: "esnext",
    modulePreload: { polyfill: false },
    // A slow build is not an error.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
