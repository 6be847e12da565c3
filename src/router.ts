import { type Router, type RouterHistory, createRouter, createWebHashHistory } from "vue-router";
import HomeView from "./views/HomeView.vue";
import JobDetailView from "./views/JobDetailView.vue";

export function createPageRouter(history: RouterHistory = createWebHashHistory()): Router {
  return createRouter({
    history,
    routes: [
      { path: "/", name: "home", component: HomeView },
      { path: "/jobs/:id", name: "job", component: JobDetailView, props: true },
      { path: "/:other(.*)*", redirect: "/" },
    ],
    scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
  });
}
