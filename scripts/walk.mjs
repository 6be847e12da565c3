// `npm run walk`: goes from the packed package to a trained model as a first-time user would, and times each step.
// With names, trains briefly with each: `npm run nodes`, `npm run managers`.
import { runVitest, setUp } from "./setup.mjs";

const SHORT_STEPS = "20";
const names = process.argv.slice(2);

await setUp();
process.env.KIT_WALK = names.join(" ") || "npm";
// 0: the quickstart's own number of steps.
process.env.KIT_WALK_STEPS = names.length > 0 ? SHORT_STEPS : "0";
process.exitCode = await runVitest("tests/walk.test.ts");
