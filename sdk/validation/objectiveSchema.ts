import * as v from "valibot";
import { isRecord } from "../../protocol/isRecord.ts";
import type { DpoObjective, KtoObjective, SftObjective } from "../../protocol/objective.ts";
import { notNegative, oneOf, positive, shareBelow } from "../../protocol/valueSchemas.ts";

const OBJECTIVE = '{ type: "sft" }, { type: "dpo" } or { type: "kto" }';

const objectives = {
  sft: v.strictObject(
    { type: v.literal("sft") } satisfies Record<keyof SftObjective, v.GenericSchema>,
    OBJECTIVE,
  ),
  dpo: v.strictObject({
    type: v.literal("dpo"),
    beta: v.optional(positive()),
    labelSmoothing: v.optional(shareBelow(0.5)),
    sftWeight: v.optional(notNegative()),
  } satisfies Record<keyof DpoObjective, v.GenericSchema>),
  kto: v.strictObject({
    type: v.literal("kto"),
    beta: v.optional(positive()),
    desirableWeight: v.optional(positive()),
    undesirableWeight: v.optional(positive()),
  } satisfies Record<keyof KtoObjective, v.GenericSchema>),
};

const namedObjective = v.object({ type: oneOf("sft", "dpo", "kto") }, OBJECTIVE);

/** The schema of the type that an objective names; undefined without one. */
export function objectiveSchemaOf(input: unknown) {
  const { type } = isRecord(input) ? input : {};
  return type === "sft" || type === "dpo" || type === "kto" ? objectives[type] : undefined;
}

export const objective = v.lazy((input) => objectiveSchemaOf(input) ?? namedObjective);
