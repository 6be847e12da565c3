import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { readPage, snippetsOf } from "./snippets.ts";

/** What ray() needs of Ray, and KubeRay for a token. */
const OLDEST_RAY = /^2\.(5[89]|[6-9]\d)\.\d+$/;

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

test("the example for KubeRay is YAML that fits the image, the commands and the trainer around it", () => {
  const documents = parseAllDocuments(readPage("kuberay.yaml"));
  const [claim, cluster] = documents.map((one) => one.toJS() as unknown);
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect([claim, cluster]).toMatchObject([
    { apiVersion: "v1", kind: "PersistentVolumeClaim", spec: { accessModes: ["ReadWriteMany"] } },
    { apiVersion: "ray.io/v1", kind: "RayCluster" },
  ]);

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
