/** For tools that don't read `.vue` files, such as the linter. vue-tsc infers the real types. */
declare module "*.vue" {
  import type { DefineComponent } from "vue";
  const component: DefineComponent;
  export default component;
}
