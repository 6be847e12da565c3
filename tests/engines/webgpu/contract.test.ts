import { describeEngine } from "../contract.ts";
import { HAS_WEBGPU, useSwiftShader } from "./device.ts";
import { createWarmEngine } from "./warmEngine.ts";

if (HAS_WEBGPU) useSwiftShader();
describeEngine("webgpu", createWarmEngine, { skip: !HAS_WEBGPU });
