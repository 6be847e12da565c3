import type { JobEvent } from "../../protocol/event.ts";
import type { Observer } from "../../sdk/job/observer.ts";

/** Prints a job's creation, events and notes, with the fields of its log's records. */
export function createJsonEvents(print: (record: unknown) => void): Observer {
  const show = (event: string, data: object) =>
    print({ event, time: new Date().toISOString(), data });
  return {
    onCreated: ({ job, directory }) => show("job.created", { ...job, directory }),
    onWait: ({ id, name }) => show("job.waiting", { id, name }),
    onNote: (text) => show("note", { text }),
    onEvent: ({ event, data }: JobEvent) => show(event, data),
    onDetached: ({ where }) => show("job.detached", { where }),
  };
}
