import os from "node:os";
import { KitError } from "../../protocol/error.ts";

/**
 * Model files and WebAssembly's memory are little-endian; typed arrays have the machine's byte order.
 * @throws KitError `MACHINE_UNFIT` on a big-endian machine, such as linux-s390x
 */
export function assertLittleEndian(): void {
  if (os.endianness() === "LE") return;
  throw new KitError(
    "MACHINE_UNFIT",
    `This machine (${process.platform}-${process.arch}) is big-endian, but Kit needs a little-endian one. Use another machine, such as one with an x64 or arm64 processor.`,
  );
}
