import { createJobStore } from "../../jobs/store.ts";
import { SERVE_PORT } from "../../protocol/address.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { printable, printableNote } from "../../protocol/printable.ts";
import type { TunedModel } from "../../server/serve/fineTuning/fineTuning.ts";
import { createModelPool } from "../../server/serve/modelPool.ts";
import { requestLine } from "../../server/serve/requestLog.ts";
import { type ServeOptions, startServeServer } from "../../server/serve/server.ts";
import {
  Option,
  createCommand,
  parseAlias,
  parseAnswering,
  parseList,
  parseNonNegative,
  parsePort,
  projectOption,
  quantizeOption,
} from "../command.ts";
import { hostnameOf, nameToAllow, urlsOf, originToAllow } from "../host.ts";
import { PACKAGE } from "../packages/kitPackage.ts";
import { onTerminationSignal } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { kitCommand } from "../project/kitCommand.ts";
import { modelProject } from "../project/modelProject.ts";
import { addTuned, loadModels } from "../serve/loadModels.ts";
import { KEY_VARIABLE, chooseKey } from "../serve/serveKey.ts";
import { openJsonLines } from "../terminal/json.ts";
import { print, printError, printFailure } from "../terminal/print.ts";

/** How long open requests may take after the first signal. Docker kills after ten seconds. */
const DRAIN_MS = 8_000;
const MAX_WAITING = 256;

export const command = createCommand("serve", {
  "kit serve": "serve the newest job's model at http://localhost:4748/v1",
  "kit serve --quantize q8_0": "faster, less memory",
  "kit serve --fine-tuning --base org/name": "let callers fine-tune org/name by OpenAI's API",
  "kit serve --host 0.0.0.0 --key-file key.txt": "accept other machines that send the key",
  "kit serve --allowed-origin https://app.example": "allow browser requests from that site",
})
  .argument(
    "[model...]",
    'job ids or their prefixes, "latest", "base", model folders, or names of the Hugging Face hub (default: latest)',
  )
  .option("-p, --port <n>", "port, or 0 for any free one", parsePort, SERVE_PORT)
  .option("--host <address>", "address to listen on; a non-local one needs a key", "localhost")
  .option("--allowed-host <name...>", "also accept these host names")
  .option("--allowed-origin <origin...>", "allow browser requests from these origins (CORS)")
  .option(
    "--key-file <path>",
    `a file with the API key that clients must send (default: the key in ${KEY_VARIABLE})`,
  )
  .addOption(quantizeOption())
  .addOption(
    new Option(
      "--engine <name>",
      "run models with llama.cpp through the project's node-llama-cpp (default: the engine that trained the model)",
    ).argParser(parseAnswering),
  )
  .option("--base <model>", "also serve this model, to fine-tune it (repeatable)", parseList)
  .option("--alias <name=model>", "also serve a model under this name (repeatable)", parseAlias)
  .option(
    "--fine-tuning",
    "accept files and fine-tuning jobs over OpenAI's API, and train on this machine",
  )
  .option("--no-follow", "keep serving the same job when a newer one completes")
  .option(
    "--max-waiting <n>",
    "maximum queued requests; more get a 429",
    parseNonNegative,
    MAX_WAITING,
  )
  .option("--json", "log one JSON object per line")
  .addOption(projectOption())
  .action(async (modelNames, options) => {
    const { host, port, json, quantize, engine: engineName } = options;
    const jsonLines = json && openJsonLines();
    const hostname = hostnameOf(host);
    const allowedHosts = options.allowedHost?.map(nameToAllow);
    const allowedOrigins = options.allowedOrigin?.map(originToAllow);
    // Read before entering the project, where a relative path would mean another file and its code could read the key.
    const key = chooseKey(host, options.keyFile);
    const project = enterProject(options.project);
    const say = (event: string, data: object, line: string) =>
      jsonLines ? jsonLines.printValue({ event, ...data }) : print(line);
    // Not on stdout, which has one line per request.
    const onNote = (text: string) => printError(printableNote(text));
    const onError = (error: unknown) => printFailure(`kit: ${printableNote(messageOf(error))}`);

    const loading = new AbortController();
    const pool = createModelPool();
    const engine = engineName && (await import("../../sdk/engines.ts")).llama();
    const models = {
      project: modelProject(project, onNote),
      loadOptions: { engine, signal: loading.signal, ...(quantize && { quantize }) },
    };
    const fineTuning = {
      project,
      kit: [process.execPath, PACKAGE.cli],
      serveModel: (model: TunedModel) => addTuned(pool, models, model),
    };
    const server = await startOn(port, {
      host,
      key,
      allowedHosts,
      allowedOrigins,
      models: pool,
      onError,
      maxWaiting: options.maxWaiting,
      ...(options.fineTuning && { fineTuning }),
      onRequest: (record) => say("request", record, requestLine(record)),
    });
    const [url, ...otherUrls] = urlsOf(hostname, server.port, "/v1").map(({ href }) => href);

    let isEnding = false;
    let following: { stop: () => void } | undefined;
    onTerminationSignal(() => {
      if (isEnding) return server.abort();
      isEnding = true;
      following?.stop();
      loading.abort();
      say("closing", {}, "kit serve  finishing open requests; press Ctrl-C again to stop now");
      if (options.fineTuning) {
        const jobs = createJobStore(project).list();
        const { id } = jobs.find(({ status }) => status === "running") ?? {};
        const cancel = kitCommand(project, `cancel ${id}`);
        if (id)
          say("training", { job: id }, `kit serve  job ${id} keeps training; to end it: ${cancel}`);
      }
      // Exit at once: connections of the closed server may linger.
      void server.close(DRAIN_MS).finally(() => process.exit());
    });

    say("listening", { url }, `kit serve  ${url}  loading …`);
    for (const otherUrl of otherUrls) {
      say("listening", { url: otherUrl }, `           ${otherUrl}  from other machines`);
    }
    if (options.fineTuning) {
      say(
        "fine-tuning",
        {},
        "           fine-tuning is on: callers can upload files and train models on this machine",
      );
    }
    const named = [...modelNames, ...(options.base ?? [])];
    try {
      following = await loadModels(pool, {
        ...models,
        modelNames: named,
        aliases: options.alias,
        follows: options.follow,
        onError,
        onFollow: (model, name) =>
          say("following", { model }, `kit serve  now serving ${model}  ${printable(name)}`),
      });
    } catch (error) {
      if (isEnding) return;
      await server.close(0);
      const isUnnamed = named.length === 0 && !options.alias;
      if (!options.fineTuning || !isUnnamed || !isKitError(error)) throw error;
      if (error.code !== "JOB_NOT_FOUND") throw error;
      const advice = "Name one to fine-tune, such as --base HuggingFaceTB/SmolLM2-135M-Instruct.";
      throw new KitError(error.code, `There is no model in ${project} yet. ${advice}`);
    }
    await server.setReady();
    const names = pool.names().map(({ name }) => name);
    say(
      "ready",
      { models: names },
      `kit serve  ready: ${names.map(printable).join(", ")}  stop with Ctrl-C`,
    );
  });

/** @throws KitError `PORT_TAKEN`, `CANNOT_LISTEN` */
async function startOn(port: number, options: Omit<ServeOptions, "port">) {
  try {
    return await startServeServer({ port, ...options });
  } catch (error) {
    if (!isKitError(error) || error.code !== "PORT_TAKEN") throw error;
    const message = `Port ${port} is taken. Choose another with --port, or 0 for any free one.`;
    throw new KitError("PORT_TAKEN", message, { cause: error });
  }
}
