import { describeEngine } from "../contract.ts";
import { createWebgpuEngine } from "./built.ts";
import { HAS_WEBGPU, PROJECT, useSwiftShader } from "./device.ts";

if (HAS_WEBGPU) useSwiftShader();
describeEngine("webgpu", () => createWebgpuEngine({}, PROJECT), { skip: !HAS_WEBGPU });
