import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { readPage, snippetsOf } from "./snippets.ts";

/** What ray() needs of Ray, and KubeRay for a token. */
const OLDEST_RAY = /^2\.(5[89]|[6-9]\d)\.\d+$/;

const text = { type: "string", minLength: 1 } as const;
const count = { type: "integer", minimum: 0 } as const;
const list = (items: object) => ({ type: "array", minItems: 1, items });
const record = (properties: Record<string, object>, optional: string[] = []) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

const VOLUME = record({ name: text, persistentVolumeClaim: record({ claimName: text }) });
const CONTAINER = record({
  name: text,
  image: text,
  // A number would be one, too; a quantity is a text.
  resources: record({ limits: record({ cpu: text, memory: text }) }),
  volumeMounts: list(record({ name: text, mountPath: text })),
});
/** Of KubeRay's own schema, `ray.io_rayclusters.yaml`, what the example uses. */
const GROUP = {
  rayStartParams: { type: "object", additionalProperties: text },
  template: record({
    spec: record({
      securityContext: record({ fsGroup: { type: "integer" } }),
      containers: list(CONTAINER),
      volumes: list(VOLUME),
    }),
  }),
};
const metadata = record({ name: text });
const CLUSTER = record({
  apiVersion: { const: "ray.io/v1" },
  kind: { const: "RayCluster" },
  metadata,
  spec: record({
    rayVersion: text,
    authOptions: record({ mode: { enum: ["disabled", "token"] } }),
    headGroupSpec: record(GROUP),
    workerGroupSpecs: list(
      record({
        ...{ groupName: text, replicas: count, minReplicas: count, maxReplicas: count },
        ...GROUP,
      }),
    ),
  }),
});
const CLAIM = record({
  apiVersion: { const: "v1" },
  kind: { const: "PersistentVolumeClaim" },
  metadata,
  spec: record({
    storageClassName: text,
    accessModes: { type: "array", items: { const: "ReadWriteMany" }, minItems: 1 },
    resources: record({ requests: record({ storage: text }) }),
  }),
});

interface Group {
  template: {
    spec: {
      containers: { image: string; volumeMounts: { name: string; mountPath: string }[] }[];
      volumes: { name: string; persistentVolumeClaim: { claimName: string } }[];
    };
  };
}

interface RayCluster {
  metadata: { name: string };
  spec: {
    rayVersion: string;
    authOptions: { mode: string };
    headGroupSpec: Group;
    workerGroupSpecs: (Group & { replicas: number })[];
  };
}

const snippets = snippetsOf(readPage("ray.md"));
const codeOf = (part: string) => snippets.find(({ code }) => code.includes(part))?.code ?? "";

test("the example for KubeRay is what its schema takes, and fits the image, the commands and the trainer around it", () => {
  const documents = parseAllDocuments(codeOf("kind: RayCluster"));
  const [claim, cluster] = documents.map((one) => one.toJS() as unknown);
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(problemsOf(CLAIM, claim)).toEqual([]);
  expect(problemsOf(CLUSTER, cluster)).toEqual([]);

  const { name } = (claim as RayCluster).metadata;
  const { metadata: mine, spec } = cluster as RayCluster;
  const { rayVersion, authOptions, headGroupSpec, workerGroupSpecs } = spec;
  expect(rayVersion).toMatch(OLDEST_RAY);
  expect(codeOf("FROM rayproject/ray")).toContain(`FROM rayproject/ray:${rayVersion}-py`);
  expect(authOptions.mode).toBe("token");
  const commands = codeOf("kubectl get secret");
  expect(commands).toContain(`get secret ${mine.name} `);
  expect(commands).toContain(`service/${mine.name}-head-svc 8265:8265`);

  const trainer = codeOf("cpusPerWorker: 4");
  const [, storage = ""] = /storage: "(.*?)"/.exec(trainer) ?? [];
  const workers = workerGroupSpecs.reduce((sum, { replicas }) => sum + replicas, 0);
  expect(trainer).toContain(`workers: ${workers},`);
  for (const { template } of [headGroupSpec, ...workerGroupSpecs]) {
    const { containers, volumes } = template.spec;
    const [volume] = volumes;
    expect(volume?.persistentVolumeClaim.claimName).toBe(name);
    for (const { image, volumeMounts } of containers) {
      expect(image).toMatch(new RegExp(`:${rayVersion}$`));
      expect(volumeMounts).toEqual([{ name: volume?.name, mountPath: storage }]);
    }
  }
});

function problemsOf(schema: object, value: unknown): string[] {
  const ajv = new Ajv({ allErrors: true, strict: true });
  ajv.validate(schema, value);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
