// Chat templates of published models, for tests: from the trl package, without the hub.
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const PACKAGE = "trl==1.16.0";

/** A folder with files such as `qwen2_5.jinja`. Git ignores it. */
export const CHAT_TEMPLATES = join(ROOT, ".chat-templates");

/**
 * Creates the folder once.
 * @param python runs an interpreter with pip; returns its exit code
 * @returns whether it exists
 */
export function makeChatTemplates(python) {
  if (existsSync(CHAT_TEMPLATES)) return true;
  const work = mkdtempSync(join(tmpdir(), "kit-templates-"));
  try {
    const install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", work, PACKAGE];
    if (python(...install) !== 0) return false;
    cpSync(join(work, "trl", "chat_templates"), CHAT_TEMPLATES, { recursive: true });
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
