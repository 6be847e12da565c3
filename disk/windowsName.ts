/** What Windows takes for a device, a stream of another file or a pattern, or truncates. */
const UNSTORABLE = /[<>:"|?*]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Whether this system can store a file or folder of a name that another system chose. */
export function canStore(name: string): boolean {
  return process.platform !== "win32" || !UNSTORABLE.test(name);
}
