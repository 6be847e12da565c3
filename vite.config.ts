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
    // The source's own syntax, which Vue's is older than.
    target: "esnext",
    modulePreload: { polyfill: false },
    // A slow build is not an error.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
