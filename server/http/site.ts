/** What refusals say of a server. */
export interface Site {
  /** What to do instead, as a sentence: `Open the page at /.` */
  advice: string;
  /** The command that starts it: `kit ui` */
  command: string;
  /** The path that links from other sites may open, if it has a page. */
  page?: string;
  /** Whether a path may have encoded slashes, which a route takes for a part of a name. Default: false. */
  takesEncodedSlashes?: boolean;
  /** Makes the body of an error. Default: `{ error }`. */
  errorBody?: (status: number, error: string) => object;
}
