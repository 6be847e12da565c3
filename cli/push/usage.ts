import { basename } from "node:path";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import type { PushedModel } from "../../protocol/push.ts";

/** How to run a pushed model, as paragraphs of Markdown. */
export function usage(repo: string, model: PushedModel): string[] {
  const { kind, file = "" } = model;
  const from = kind === "gguf" ? `${repo} ${file}` : repo;
  const download = `hf download ${from} --local-dir model && npx kit infer ./model/${file} "…"`;
  if (kind === "gguf") {
    return [code("sh", `llama-cli --hf-repo ${repo} --hf-file ${file} --jinja --temp 0`, download)];
  }
  // Kit reads some names as those of files.
  const isLocalName = repo.endsWith(".gguf") || stepOfEntry(basename(repo)) !== undefined;
  const kit = kind === "model" && !isLocalName ? `npx kit infer ${repo} "…"` : download;
  return [code("python", transformers(repo, model)), code("sh", kit)];
}

function transformers(repo: string, { kind, hasChatTemplate }: PushedModel): string {
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
          'messages = [{"role": "user", "content": "…"}]',
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
  return ["```" + language, ...lines, "```"].join("\n");
}
