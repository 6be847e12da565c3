// A training process that runs one job after another on one device, whose kernels are compiled once.
import { openDevice } from "../../../dist/engines/webgpu/device/dawn.js";
import { runJob } from "../../../dist/engines/webgpu/train/runJob.js";

let device;

process.on("message", (job) => {
  device ??= openDevice(job.options, job.project);
  void runJob(job, () => device);
});
process.once("disconnect", () => process.exit());
