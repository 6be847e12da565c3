import { saveModel } from "../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../engines/families/dimensions.ts";
import { randomWeights } from "../engines/families/randomWeights.ts";
import { STYLES, writeTokenizer } from "./engines/tokens/styles.ts";

const STYLE = STYLES["SmolLM"]!;
const SHAPE = dimensionsOf({
  ...{ layers: 1, heads: 2, kvHeads: 1, width: 16, intermediateSize: 32, context: 512 },
  ...{ vocabulary: STYLE.size, tied: true },
});
/** As the templates of the Qwen family, in short. */
const TEMPLATE = `{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}{% for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/**
 * Writes a small model whose chat template takes tools. Its weights are random: it talks to the end of its context.
 * @param options its context, in tokens, and its chat template
 */
export function saveToolModel(
  path: string,
  options: { context?: number; template?: string | undefined } = {},
): void {
  const { context = SHAPE.context, template = TEMPLATE } = options;
  const shape = { ...SHAPE, context };
  saveModel(path, randomWeights(shape, 1), { shape, promptStyle: "message" });
  writeTokenizer(path, STYLE, { chat_template: template });
}
