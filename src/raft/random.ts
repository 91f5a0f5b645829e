/**
 * The random generator of election jitter: Marsaglia's 32-bit xorshift. It is linear over bits, so many draws at once
 * cost little more than one: a group may have been idle for days.
 */

const BITS = 32;
/** For each k, the effect of 2^k draws on each single bit. Computed on demand. */
const POWERS: number[][] = [];

/** The next state of the generator, which is also what it draws; its only fixed point is 0. */
export function drawRandom(seed: number): number {
  let next = seed;
  next ^= next << 13;
  next ^= next >>> 17;
  next ^= next << 5;
  return next;
}

/** The state after so many draws. */
export function drawRandoms(seed: number, count: number): number {
  let next = seed;
  let left = count;
  for (let power = 0; left > 0; power += 1) {
    if (left % 2 === 1) next = times(powerOf(power), next);
    left = Math.floor(left / 2);
  }
  return next;
}

function powerOf(power: number): readonly number[] {
  for (let at = POWERS.length; at <= power; at += 1) {
    const before = POWERS[at - 1];
    const bits = Array.from({ length: BITS }, (_, bit) => 1 << bit);
    POWERS.push(bits.map((bit) => (before === undefined ? drawRandom(bit) : times(before, times(before, bit)))));
  }
  return POWERS[power] ?? [];
}

/** Combines the effects on all bits of a state. */
function times(ofBits: readonly number[], state: number): number {
  let made = 0;
  for (let bit = 0; bit < BITS; bit += 1) if (((state >>> bit) & 1) === 1) made ^= ofBits[bit] ?? 0;
  return made;
}
