import os from "node:os";
import { KitError } from "../../protocol/error.ts";

/**
 * Model files are little-endian, and so is WebAssembly's memory; what is read and written as typed arrays has the
 * machine's order.
 * @throws KitError `MACHINE_UNFIT` on a machine of the other order, such as linux-s390x
 */
export function assertLittleEndian(): void {
  if (os.endianness() === "LE") return;
  throw new KitError(
    "MACHINE_UNFIT",
    `This machine (${process.platform}-${process.arch}) is big-endian, and Kit reads, writes and trains models on little-endian ones alone. Use another machine, such as one with an x64 or arm64 processor.`,
  );
}
