import { fileURLToPath } from "node:url";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

/** Pinia's other build keeps what saves files for its devtools. */
const PINIA = fileURLToPath(
  new URL("node_modules/pinia/dist/pinia.esm-browser.prod.js", import.meta.url),
);

export default defineConfig(({ command }) => ({
  resolve: { alias: command === "build" ? { pinia: PINIA } : undefined },
  // Every component is `<script setup>`.
  plugins: [vue({ features: { optionsAPI: false } })],
  // Relative, so that the page works behind any path prefix.
  base: "./",
  // One script, so nothing to preload.
  build: {
    outDir: "dist/page",
    modulePreload: { polyfill: false },
    minify: "terser",
    terserOptions: {
      module: true,
      ecma: 2020,
      compress: { passes: 5, pure_getters: true, unsafe_arrows: true },
    },
    rolldownOptions: { optimization: { inlineConst: true } },
  },
}));
