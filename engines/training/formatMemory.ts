import { formatGibibytes } from "../../protocol/format.ts";

/** `1.50 GiB of memory (weights 1.00, moments 0.50)`. @param sizes bytes by purpose */
export function formatMemory(bytes: number, sizes: Readonly<Record<string, number>>): string {
  const used = Object.entries(sizes).filter(([, size]) => size > 0);
  const list = used.map(([purpose, size]) => `${purpose} ${formatGibibytes(size)}`).join(", ");
  return `${formatGibibytes(bytes)} GiB of memory (${list})`;
}
