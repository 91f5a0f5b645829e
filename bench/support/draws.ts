/** Random numbers from a fixed seed, so that every run makes the same requests. */

const SEED = 0x9e3779b9;

/** Uniform distribution over `count` numbers. */
export function uniform(count: number, random: () => number = seeded()): () => number {
  return () => Math.floor(random() * count);
}

/** Zipf distribution: number k of `count` has the weight 1 / (k + 1) ^ exponent. */
export function zipf(count: number, exponent: number, random: () => number = seeded()): () => number {
  const sums = new Float64Array(count);
  let total = 0;
  for (let k = 0; k < count; k++) {
    total += (k + 1) ** -exponent;
    sums[k] = total;
  }
  return () => {
    const wanted = random() * total;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** Numbers from 0 to 1, exclusive (mulberry32). */
export function seeded(seed: number = SEED): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
