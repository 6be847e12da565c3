import { readFileSync } from "node:fs";
import { isLoopback } from "../../protocol/address.ts";
import { KitError, messageOf } from "../../protocol/error.ts";

export const KEY_VARIABLE = "KIT_SERVE_KEY";
/** Shorter keys could be guessed. */
const MIN_KEY_LENGTH = 16;
/** Characters that a header can carry. */
const VISIBLE = /^[\x21-\x7e]*$/;

/**
 * The API key that clients must send. Other machines always need one.
 * @param file may end with a newline
 * @throws KitError `KEY_INVALID`, which never quotes the key
 */
export function chooseKey(host: string, file: string | undefined): string | undefined {
  const fromEnvironment = process.env[KEY_VARIABLE];
  // Subprocesses must not inherit the key.
  delete process.env[KEY_VARIABLE];
  const key = file === undefined ? fromEnvironment : readKey(file);
  const source = file === undefined ? KEY_VARIABLE : "the --key-file";
  if (key === undefined) {
    if (isLoopback(host)) return undefined;
    throw new KitError(
      "KEY_INVALID",
      `Without a key, anyone who reaches ${host} could use this machine. Set ${KEY_VARIABLE}, or pass --key-file.`,
    );
  }
  if (key.length >= MIN_KEY_LENGTH && VISIBLE.test(key)) return key;
  throw new KitError(
    "KEY_INVALID",
    `The key in ${source} needs at least ${MIN_KEY_LENGTH} characters of ASCII, without spaces. Create one with: node -p "crypto.randomUUID()"`,
  );
}

function readKey(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new KitError("KEY_INVALID", `${messageOf(error)}. Check --key-file.`, { cause: error });
  }
}
