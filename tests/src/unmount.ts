import { disableAutoUnmount, enableAutoUnmount } from "@vue/test-utils";
import { afterEach } from "vitest";

// Runs before each file. A hook that a shared module sets is only the first file's.
disableAutoUnmount();
enableAutoUnmount(afterEach);
