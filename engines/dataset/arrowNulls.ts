import type { Message, Tool, ToolCall } from "../../protocol/chat.ts";
import { formatCounted } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import {
  type Schema,
  allowsNull,
  itemsOf,
  mapObject,
  propertyOf,
  unlessEmptied,
  withoutNulls,
} from "./toolSchema.ts";

/**
 * Arrow (hence Parquet and `datasets`) gives all objects of a column the same keys, with nulls for missing values.
 * Drops these nulls: from calls, keys that the tool doesn't have; from tools, all that a schema can't mean.
 */
export interface ArrowNulls {
  /** @param row in Kit's own format */
  drop: <Row extends object>(row: Row, where: string) => Row;
  /** Notes and warnings about dropped and doubtful nulls. */
  notes: (dataset: string) => string[];
}

/** @param isArrow whether the rows certainly come from Arrow */
export function createArrowNulls(isArrow: boolean): ArrowNulls {
  const dropped = createTally();
  // Arrow also pads optional arguments that a call omitted; an explicit null looks the same.
  const doubtful = createTally();

  /** Outside a table, `default: null` is intended, unless other nulls show Arrow's padding. */
  function schemaWithout(schema: Schema, onDrop: () => void): Schema {
    let isPadded = isArrow;
    const intended = withoutNulls(schema, () => void (isPadded = true), true);
    return isPadded ? withoutNulls(schema, onDrop) : intended;
  }

  function toolWithout(tool: Tool, onDrop: () => void): Tool {
    const clean = (value: unknown, key: string): unknown => {
      if (value === null) return onDrop();
      if (key === "function") return mapObject(value as Schema, clean);
      return key === "parameters" && isRecord(value) ? schemaWithout(value, onDrop) : value;
    };
    return mapObject({ ...tool }, clean) as unknown as Tool;
  }

  function callWithout(call: ToolCall, tools: readonly Tool[], where: string): ToolCall {
    const tool = tools.find(({ function: { name } }) => name === call.function.name);
    const root = tool?.function.parameters ?? {};
    const withoutPadding = (value: unknown, schema: unknown): unknown => {
      if (Array.isArray(value))
        return value.map((item) => withoutPadding(item, itemsOf(schema, root)));
      if (!isRecord(value)) return value;
      return mapObject(value, (member, key) => {
        const property = propertyOf(schema, key, root);
        const isPadding = property === undefined && (tool !== undefined || isArrow);
        if (member !== null) {
          const cleaned = withoutPadding(member, property);
          return isPadding ? unlessEmptied(member, cleaned) : cleaned;
        }
        if (isPadding) return dropped.add(where);
        if (property === undefined || !allowsNull(property, root)) doubtful.add(where);
        return member;
      });
    };
    const { function: called } = call;
    const args = withoutPadding(called.arguments, root);
    return mapObject({ ...call }, (value, key) =>
      key === "function" ? { ...called, arguments: args } : (value ?? undefined),
    ) as unknown as ToolCall;
  }

  return {
    drop(row, where) {
      const tools = (row as { tools?: readonly Tool[] }).tools?.map((tool) =>
        toolWithout(tool, () => dropped.add(where)),
      );
      const messageWithout = (message: Message): Message => {
        const calls = message.tool_calls?.map((call) => callWithout(call, tools ?? [], where));
        return calls ? { ...message, tool_calls: calls } : message;
      };
      return mapObject({ ...row } as Schema, (value, key) => {
        if (key === "tools") return tools;
        return Array.isArray(value) ? (value as Message[]).map(messageWithout) : value;
      }) as typeof row;
    },
    notes: (dataset) => [
      ...dropped.note(
        (nulls, first) =>
          `dropped ${nulls} that Arrow padded calls and tools with in ${dataset} (first: ${first})`,
      ),
      ...doubtful.note(
        (nulls, first) =>
          `warning: ${nulls} in calls of ${dataset} that no tool's schema allows (first: ${first}): they are learned; remove them if they are Arrow's padding`,
      ),
    ],
  };
}

function createTally() {
  let count = 0;
  let first = "";
  return {
    add(where: string): undefined {
      if (count++ === 0) first = where;
    },
    note: (say: (nulls: string, first: string) => string) =>
      count === 0 ? [] : [say(formatCounted(count, "null"), first)],
  };
}
