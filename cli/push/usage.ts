import { basename } from "node:path";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import type { PushedModel } from "../../protocol/push.ts";

/**
 * How to run a pushed model, as paragraphs of Markdown.
 * @param system a message that all rows share, whose text is shown only if everybody can see the rows
 */
export function usage(repo: string, model: PushedModel, system?: string): string[] {
  const { kind, file = "" } = model;
  const shared = system && (model.isDatasetPublic ? system : "…");
  const note = shared ? ["All training rows have the same system message. Send it, too."] : [];
  const messages = [...(shared ? [["system", shared]] : []), ["user", "…"]].map(
    ([role, content]) => `{"role": "${role}", "content": ${JSON.stringify(content)}}`,
  );
  const conversation = `[${messages.join(", ")}]`;
  const prompt = shared ? `--jsonl <<'END'\n{"messages": ${conversation}}\nEND` : '"…"';
  const from = kind === "gguf" ? `${repo} ${file}` : repo;
  const download = `hf download ${from} --local-dir model && npx kit infer ./model/${file} ${prompt}`;
  if (kind === "gguf") {
    const systemOption = shared ? ` -sys '${shared.replaceAll("'", String.raw`'\''`)}'` : "";
    const llama = `llama-cli --hf-repo ${repo} --hf-file ${file} --jinja --temp 0${systemOption}`;
    return [...note, code("sh", llama, download)];
  }
  // Kit reads some names as those of files.
  const isLocalName = repo.endsWith(".gguf") || stepOfEntry(basename(repo)) !== undefined;
  const kit = kind === "model" && !isLocalName ? `npx kit infer ${repo} ${prompt}` : download;
  return [...note, code("python", transformers(repo, model, conversation)), code("sh", kit)];
}

function transformers(
  repo: string,
  { kind, hasChatTemplate }: PushedModel,
  conversation: string,
): string {
  const isAdapter = kind === "adapter";
  const name = isAdapter ? "AutoPeftModelForCausalLM" : "AutoModelForCausalLM";
  return [
    ...(isAdapter ? [`from peft import ${name}`] : []),
    `from transformers import ${isAdapter ? "" : `${name}, `}AutoTokenizer`,
    "",
    `tokenizer = AutoTokenizer.from_pretrained("${repo}")`,
    `model = ${name}.from_pretrained("${repo}")`,
    ...(hasChatTemplate
      ? [
          `messages = ${conversation}`,
          "inputs = tokenizer.apply_chat_template(",
          '    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True',
          ")",
        ]
      : ['inputs = tokenizer("…", return_tensors="pt")']),
    "output = model.generate(**inputs, max_new_tokens=128, do_sample=False)",
    'length = inputs["input_ids"].shape[1]',
    "print(tokenizer.decode(output[0][length:], skip_special_tokens=True))",
  ].join("\n");
}

function code(language: string, ...lines: string[]): string {
  const runs = lines.join().match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(2, ...runs.map((run) => run.length)) + 1);
  return [fence + language, ...lines, fence].join("\n");
}
