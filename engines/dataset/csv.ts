import constants from "../constants.json" with { type: "json" };

/** Parts between commas, semicolons or tabs without a space after them, which prose would have. */
const PARTS = new RegExp(`^${constants.csvLine}$`);

/** Whether a line that is not JSON says that its file is a table: by the file's name, or as its first line. */
export function isCsv(line: string, where: string): boolean {
  const [, extension = "", number] = /(\.[ct]sv)?:(\d+)$/i.exec(where) ?? [];
  return extension !== "" || (number === "1" && PARTS.test(line));
}
