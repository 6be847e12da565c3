// Reads each file that is named in a file, one a line, and prints how many milliseconds it took.
import { readFileSync } from "node:fs";

const paths = readFileSync(process.argv[2] ?? "", "utf8").split("\n");
const start = performance.now();
for (const path of paths) readFileSync(path, "utf8");
console.log(performance.now() - start);
