import { expect, test } from "vitest";
import { isLoopback } from "../../protocol/address.ts";

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, "");

test.each([
  ...["http://localhost:8265", "http://LOCALHOST.", "http://kit.localhost", "http://127.0.0.1"],
  ...["http://127.8.9.10", "http://127.1", "http://0x7f.1", "http://[::1]:8265"],
  ...["http://[::ffff:127.0.0.1]", "http://[0:0::1]"],
])("%s is this machine's alone", (url) => {
  expect(isLoopback(hostOf(url))).toBe(true);
});

test.each([
  ...["http://head:8265", "http://0.0.0.0", "http://[::]", "http://10.0.0.1", "http://128.0.0.1"],
  ...["http://127.0.0.1.example.com", "http://localhost.example.com", "http://notlocalhost"],
  ...["http://[::ffff:10.0.0.1]", "http://[fe80::1]"],
])("%s is not", (url) => {
  expect(isLoopback(hostOf(url))).toBe(false);
});
