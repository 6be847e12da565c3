// Writes train.jsonl and heldout.jsonl next to this file; each run writes the same bytes.
// No order number and no wording of a held-out row is in the training rows.
import { writeFileSync } from "node:fs";

const SEED = 11;
const TRAIN_ROWS = 200;
const HELD_OUT_ROWS = 40;
/** Of the wordings of each kind, the last one is held out. */
const HELD_OUT_WORDINGS = 1;

/** The rules of a house: who sees to it, and how soon. No model can know them. */
const KINDS = [
  {
    team: "payments",
    priority: 1,
    wordings: [
      "I was charged twice for order #.",
      "Your shop took the money for # two times, please give one back.",
      "There are two payments for # on my bank statement.",
      "Why did I pay twice? My order is #.",
      "Double charge on # — I want a refund of the second one.",
      "You debited my card again for #, although it was already paid.",
    ],
  },
  {
    team: "shipping",
    priority: 2,
    wordings: [
      "Where is my parcel? The order number is #.",
      "# should have been here a week ago.",
      'The tracking page of # has said "in transit" for ten days.',
      "Nothing has arrived yet for order #. Is it lost?",
      "Still waiting for #, and nobody answers the phone.",
      "My neighbours got their things, but # is nowhere to be seen.",
    ],
  },
  {
    team: "returns",
    priority: 3,
    wordings: [
      "The shoes from # are too small, can I swap them?",
      "I'd like to send back what I ordered with #.",
      "How do I return order #? It does not fit.",
      "Please send me a label to return #.",
      "# is not what I had in mind, I want to give it back.",
      "The colour of # looked different online; may I exchange it?",
    ],
  },
  {
    team: "quality",
    priority: 1,
    wordings: [
      "The lamp from order # came broken.",
      "# stopped working after one day.",
      "There was glass all over the box when I opened #.",
      "The zip of the jacket from # is torn.",
      "Half of the set in # is cracked.",
      "What you sent with # does not even switch on.",
    ],
  },
  {
    team: "accounts",
    priority: 4,
    wordings: [
      "Please change the e-mail address for order #.",
      "I can't log in any more to look at #.",
      "My new address is missing on the invoice of #.",
      "The invoice for # has my old company's name.",
      "I forgot my password and need the bill for #.",
      "Could you merge my two accounts? The older one has #.",
    ],
  },
];

const GREETINGS = ["", "Hi, ", "Hello! ", "Good morning. ", "Hey there — "];
const ENDINGS = ["", " Thanks!", " Please hurry.", " Kind regards, Sam", " I'm really upset."];

/** A small generator of numbers below 1 (mulberry32): the same seed, the same numbers. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = createRandom(SEED);
const pick = (list) => list[Math.floor(random() * list.length)];
const orders = new Set();

function newOrder() {
  for (;;) {
    const order = `${pick([..."ABKMRT"])}-${1000 + Math.floor(random() * 9000)}`;
    if (!orders.has(order)) return orders.add(order) && order;
  }
}

function rowsOf(count, wordingsOf) {
  return Array.from({ length: count }, (_, n) => {
    const { team, priority, wordings } = KINDS[n % KINDS.length];
    const order = newOrder();
    const wording = pick(wordingsOf(wordings)).replace("#", order);
    const prompt = `${pick(GREETINGS)}${wording}${pick(ENDINGS)}`;
    return { prompt, completion: JSON.stringify({ team, priority, order }) };
  });
}

function write(name, rows) {
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(new URL(name, import.meta.url), lines.join(""));
}

write(
  "train.jsonl",
  rowsOf(TRAIN_ROWS, (all) => all.slice(0, -HELD_OUT_WORDINGS)),
);
write(
  "heldout.jsonl",
  rowsOf(HELD_OUT_ROWS, (all) => all.slice(-HELD_OUT_WORDINGS)),
);
