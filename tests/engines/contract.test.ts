import { describeEngine } from "./contract.ts";
import { createEmbeddedEngine } from "./embedded/built.ts";
import { createSeparateEngine } from "./separate/engine.ts";

describeEngine("embedded", createEmbeddedEngine);
describeEngine("separate", createSeparateEngine);
