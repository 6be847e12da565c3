import type { Message, Tool, ToolCall } from "../../protocol/chat.ts";
import { formatCounted } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import {
  type Schema,
  allowsNull,
  itemsOf,
  objectWith,
  propertyOf,
  unlessEmptied,
  withoutNulls,
} from "./toolSchema.ts";

/**
 * Drops the nulls that Arrow (hence Parquet and `datasets`) pads objects with to give all of them the
 * same keys: in a call's arguments keys that the tool doesn't have, in tools those that no schema has.
 */
export interface ArrowPadding {
  /** @param row in Kit's own format */
  drop: <Row extends object>(row: Row, where: string) => Row;
  /** Lines for people. */
  notes: (dataset: string) => string[];
}

/** @param isArrow whether the rows certainly come from Arrow */
export function createArrowPadding(isArrow: boolean): ArrowPadding {
  const dropped = createTally();
  // Arrow also pads optional arguments that a call omitted; an explicit null looks the same.
  const doubtful = createTally();

  /** Outside a table, `default: null` is intended, unless other nulls show Arrow's padding. */
  function schemaWithout(schema: Schema, onDrop: () => void): Schema {
    let isFilled = isArrow;
    const meant = withoutNulls(schema, () => void (isFilled = true), true);
    return isFilled ? withoutNulls(schema, onDrop) : meant;
  }

  function toolWithout(tool: Tool, onDrop: () => void): Tool {
    const clean = (value: unknown, key: string): unknown => {
      if (value === null) return onDrop();
      if (key === "function") return objectWith(value as Schema, clean);
      return key === "parameters" && isRecord(value) ? schemaWithout(value, onDrop) : value;
    };
    return objectWith({ ...tool }, clean) as unknown as Tool;
  }

  function callWithout(call: ToolCall, tools: readonly Tool[], where: string): ToolCall {
    const tool = tools.find(({ function: { name } }) => name === call.function.name);
    const root = tool?.function.parameters ?? {};
    const without = (value: unknown, schema: unknown): unknown => {
      if (Array.isArray(value)) return value.map((one) => without(one, itemsOf(schema, root)));
      if (!isRecord(value)) return value;
      return objectWith(value, (one, key) => {
        const property = propertyOf(schema, key, root);
        const isPadding = property === undefined && (tool !== undefined || isArrow);
        if (one !== null) {
          const kept = without(one, property);
          return isPadding ? unlessEmptied(one, kept) : kept;
        }
        if (isPadding) return dropped.add(where);
        if (property === undefined || !allowsNull(property, root)) doubtful.add(where);
        return one;
      });
    };
    const { function: called } = call;
    const args = without(called.arguments, root);
    return objectWith({ ...call }, (value, key) =>
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
      return objectWith({ ...row } as Schema, (value, key) => {
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
