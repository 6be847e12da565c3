import { createPinia } from "pinia";
import { createApp } from "vue";
import App from "./App.vue";
import { createPageRouter } from "./router.ts";
import "./styles/index.css";

createApp(App).use(createPinia()).use(createPageRouter()).mount("#app");
