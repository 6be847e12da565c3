import { mount } from "@vue/test-utils";
import { expect, it } from "vitest";
import LogBox from "../../../src/components/LogBox.vue";

const plain = (text: string) => ({ text, style: "" });

/** Lays a box out, which happy-dom doesn't: 100 px high, 20 px a block. */
function mountBox(blocks: number) {
  const props = (count: number) => ({
    label: "Output",
    placeholder: "Nothing yet.",
    blocks: Array.from({ length: count }, (_, id) => ({ id, segments: [plain(`line ${id}\n`)] })),
  });
  const box = mount(LogBox, { props: props(blocks) });
  const pre = box.get("pre").element;
  let height = blocks * 20;
  Object.defineProperty(pre, "clientHeight", { get: () => 100 });
  Object.defineProperty(pre, "scrollHeight", { get: () => height });
  return {
    pre,
    newest: () => box.find("button"),
    grow: (count: number) => {
      height = count * 20;
      return box.setProps(props(count));
    },
    /** Moves the end, like a narrower window. */
    wrapTo: (lines: number) => {
      height = lines * 20;
      return box.get("pre").trigger("scroll");
    },
    scrollTo: (top: number) => {
      pre.scrollTop = top;
      return box.get("pre").trigger("scroll");
    },
  };
}

it("shows exactly the text it is given, in a pre", () => {
  const text = "a  b\r\n\t<b>&amp;</b>\n\n";
  const blocks = [
    { id: 0, segments: [plain(text)] },
    { id: 1, segments: [{ text: "la", style: "bold red" }, plain("st")] },
  ];
  const box = mount(LogBox, { props: { label: "Output", placeholder: "Nothing yet.", blocks } });
  expect(box.get("pre").element.textContent).toBe(`${text}last`);
  expect(box.get(".bold.red").text()).toBe("la");
});

it("follows the latest text", async () => {
  const box = mountBox(10);
  await box.grow(20);
  expect(box.pre.scrollTop).toBe(400);
  await box.grow(30);
  expect(box.pre.scrollTop).toBe(600);
});

it("stays where the reader scrolled up to, and follows again from the end", async () => {
  const box = mountBox(10);
  await box.grow(20);
  await box.scrollTo(120);
  await box.grow(30);
  expect(box.pre.scrollTop).toBe(120);

  await box.scrollTo(500);
  await box.grow(40);
  expect(box.pre.scrollTop).toBe(800);
});

it("says when it has stopped following, and follows again on a click", async () => {
  const box = mountBox(10);
  await box.grow(20);
  expect(box.newest().exists()).toBe(false);
  await box.scrollTo(120);
  await box.grow(30);
  expect(box.newest().text()).toBe("↓ newest");
  await box.newest().trigger("click");
  expect(box.pre.scrollTop).toBe(600);
  await box.grow(40);
  expect(box.pre.scrollTop).toBe(800);
  expect(box.newest().exists()).toBe(false);
});

it("keeps following when a narrower window has moved the end", async () => {
  const box = mountBox(20);
  await box.wrapTo(40);
  await box.grow(50);
  expect(box.pre.scrollTop).toBe(1_000);
});
