/** For tools that do not read `.vue` files, as the linter; vue-tsc knows each component's own type. */
declare module "*.vue" {
  import type { DefineComponent } from "vue";
  const component: DefineComponent;
  export default component;
}
