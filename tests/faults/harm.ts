import { expect } from "vitest";
import { type FaultRow, reportFault } from "./table.ts";

/** Counts what a fault did. */
export function createHarm(fault: string) {
  const row: FaultRow = { fault, times: 0, lost: 0, doubled: 0, wrongStatus: 0 };
  const wrong: unknown[] = [];
  return {
    row,
    /** Counts the fault once, and a wrong status unless it is the expected one. */
    status(found: unknown, expected: unknown): void {
      row.times++;
      this.also(found, expected);
    },
    /** Checks a fault again that is counted already. */
    also(found: unknown, expected: unknown): void {
      try {
        expect(found).toEqual(expected);
      } catch {
        row.wrongStatus++;
        wrong.push({ found, expected });
      }
    },
    /** Expected once each, in order. */
    events(found: unknown[], expected: unknown[]): void {
      const times = (value: unknown) => found.filter((other) => other === value).length;
      row.lost += expected.filter((value) => times(value) === 0).length;
      row.doubled += found.length - new Set(found).size;
    },
    /** Reports the row, and expects that no harm was done. */
    expectNone(): void {
      reportFault(row);
      expect(wrong).toEqual([]);
      expect(row).toMatchObject({ lost: 0, doubled: 0, wrongStatus: 0 });
      expect(row.times).toBeGreaterThan(0);
    },
  };
}
