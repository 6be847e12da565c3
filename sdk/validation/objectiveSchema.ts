import * as v from "valibot";
import { isRecord } from "../../protocol/isRecord.ts";
import {
  type DpoObjective,
  type KtoObjective,
  type ObjectiveType,
  type SftObjective,
  OBJECTIVE_TYPES,
} from "../../protocol/objective.ts";
import { notNegative, oneOf, positive, shareBelow } from "../../protocol/valueSchemas.ts";

const WRITTEN = OBJECTIVE_TYPES.map((type) => `{ type: "${type}" }`);
const OBJECTIVE = `${WRITTEN.slice(0, -1).join(", ")} or ${WRITTEN.at(-1)}`;

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
} satisfies Record<ObjectiveType, v.GenericSchema>;

const namedObjective = v.object({ type: oneOf(...OBJECTIVE_TYPES) }, OBJECTIVE);

/** The schema of the type that an objective names; undefined without one. */
export function objectiveSchemaOf(input: unknown) {
  const type = OBJECTIVE_TYPES.find((each) => isRecord(input) && input["type"] === each);
  return type && objectives[type];
}

export const objective = v.lazy((input) => objectiveSchemaOf(input) ?? namedObjective);
