/** The byte that ends a line. */
export const NEWLINE = 0x0a;
