import { expect, test } from "vitest";
import { networkAddresses } from "../../cli/host.ts";
import { createContainer } from "../container.ts";
import { createTinyProject, startKit } from "../kit.ts";

const NONE = { netmask: "", mac: "", cidr: null, internal: false };
const INTERFACES = {
  lo: [
    { ...NONE, family: "IPv4" as const, address: "127.0.0.1", internal: true },
    { ...NONE, family: "IPv6" as const, address: "::1", internal: true, scopeid: 0 },
  ],
  eth0: [
    { ...NONE, family: "IPv4" as const, address: "192.168.1.7" },
    { ...NONE, family: "IPv6" as const, address: "fe80::1", scopeid: 2 },
    { ...NONE, family: "IPv6" as const, address: "2001:db8::7", scopeid: 0 },
  ],
  gone: undefined,
};

test.each([
  ["0.0.0.0", ["192.168.1.7"]],
  ["[::]", ["192.168.1.7", "[2001:db8::7]"]],
  ["192.168.1.7", []],
  ["localhost", []],
])("other machines reach what listens on %s at %j", (host, addresses) => {
  expect(networkAddresses(host, INTERFACES)).toEqual(addresses);
});

test("kit ui prints this machine's addresses in its network, each with the token", async () => {
  // Other tests add and remove this machine's.
  const { address, enter } = await createContainer();
  const words = ["ui", "--port", "0", "--no-open", "--host", "0"];
  const { printed } = startKit(createTinyProject(), words, {}, enter);
  const addresses = [address];
  const all = await printed(new RegExp(`(.*\\n){${addresses.length + 1}}`));
  const [first = "", ...others] = all.trimEnd().split("\n");
  const link = /http:\S+/.exec(first)?.[0] ?? "";
  expect(others).toEqual(
    addresses.map(
      (address) => `        ${link.replace("127.0.0.1", address)}  from other machines`,
    ),
  );
  for (const line of others) {
    const answer = await fetch(/http:\S+/.exec(line)?.[0] ?? "", { redirect: "manual" });
    expect(answer.status).toBe(303);
  }
});
