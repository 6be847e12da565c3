/** How chat templates of the field write tools and calls of them, in short. */
const TURN = (body: string) =>
  `{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}${body}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;
const EACH = (body: string) =>
  `{% for call in message.tool_calls or [] %}{% set called = call.function %}${body}{% endfor %}`;
const JSON_OF = (key: string) =>
  `{"name": "{{ called.name }}", "${key}": {{ called.arguments | tojson }}}`;

export const TEMPLATES = {
  hermes: TURN(EACH(`\n<tool_call>\n${JSON_OF("arguments")}\n</tool_call>`)),
  llama: TURN(
    `{% if message.tool_calls %}{% if message.tool_calls | length != 1 %}{{ raise_exception("one") }}{% endif %}${EACH(JSON_OF("parameters"))}{% endif %}`,
  ),
  mistral: TURN(
    `{% if message.tool_calls %}[TOOL_CALLS] [${EACH(`{% if not loop.first %}, {% endif %}${JSON_OF("arguments")}`)}]{% endif %}`,
  ),
  unknown: TURN(EACH("<call>{{ called.name }} {{ called.arguments | tojson }}</call>")),
};

export const TOOLS = [
  {
    type: "function" as const,
    function: {
      name: "find_book",
      parameters: {
        type: "object",
        properties: {
          title: { type: "string", maxLength: 4 },
          floor: { enum: ["ground", "first"] },
        },
        required: ["title", "floor"],
        additionalProperties: false,
      },
    },
  },
  {
    type: "function" as const,
    function: {
      name: 'say "hi"',
      parameters: { type: "object", properties: {}, additionalProperties: false },
    },
  },
];
