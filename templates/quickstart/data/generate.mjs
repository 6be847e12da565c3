// Writes train.jsonl and heldout.jsonl next to this file; each run writes the same bytes.
// A date is in one row only, so no held-out date is in the training rows in any format.
import { writeFileSync } from "node:fs";

const SEED = 7;
const TRAIN_ROWS = 4000;
const HELD_OUT_ROWS = 200;
const FIRST_YEAR = 1950;
const LAST_YEAR = 2049;

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** How people write a date. A numeric month is always in the same position. */
const FORMATS = [
  ({ day, month, year }) => `${ordinal(day)} of ${month} ${year}`, // 7th of March 1998
  ({ day, month, year }) => `${month} ${day}, ${year}`, // March 7, 1998
  ({ dd, mm, year }) => `${dd}.${mm}.${year}`, // 07.03.1998
  ({ day, month, year }) => `${day}-${month.slice(0, 3)}-${year}`, // 7-Mar-1998
  ({ dd, mm, year }) => `${year}/${mm}/${dd}`, // 1998/03/07
  ({ day, month, year }) => `${month.slice(0, 3)} ${ordinal(day)}, ${year}`, // Mar 7th, 1998
  ({ day, month, year }) => `${day} ${month} ${year}`, // 7 March 1998
  ({ dd, mm, year }) => `${year}${mm}${dd}`, // 19980307
];

function ordinal(day) {
  const teen = day >= 11 && day <= 13;
  return `${day}${(!teen && { 1: "st", 2: "nd", 3: "rd" }[day % 10]) || "th"}`;
}

/** Seeded random numbers in [0, 1): mulberry32. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffle(items, random) {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other], items[last]];
  }
}

/** Every day of the years above, as YYYY-MM-DD. */
function calendar() {
  const days = [];
  const date = new Date(Date.UTC(FIRST_YEAR, 0, 1));
  while (date.getUTCFullYear() <= LAST_YEAR) {
    days.push(date.toISOString().slice(0, 10));
    date.setUTCDate(date.getUTCDate() + 1);
  }
  return days;
}

/** One row per date; alternates the formats, so that each has equally many rows. */
function toRow(iso, index) {
  const [year, mm, dd] = iso.split("-");
  const parts = { year, mm, dd, day: Number(dd), month: MONTHS[Number(mm) - 1] };
  return { prompt: FORMATS[index % FORMATS.length](parts), completion: iso };
}

function write(name, dates) {
  const lines = dates.map((iso, index) => `${JSON.stringify(toRow(iso, index))}\n`);
  writeFileSync(new URL(name, import.meta.url), lines.join(""));
  console.log(`${name}: ${lines.length} rows`);
}

const dates = calendar();
shuffle(dates, createRandom(SEED));
write("heldout.jsonl", dates.slice(0, HELD_OUT_ROWS));
write("train.jsonl", dates.slice(HELD_OUT_ROWS, HELD_OUT_ROWS + TRAIN_ROWS));
