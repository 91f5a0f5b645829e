// Goal: every database gets a round each five seconds, whatever happens to others; failures are repeated later and
// later; what is not followed any more is not archived. Method: archivers that a test answers, under a simulated clock.
import { beforeEach, describe, expect, it } from 'vitest';
import { ArchiveDriver, type Round } from '#archive';

interface Database {
  readonly id: string;
  readonly name: string;
}

interface Begun {
  readonly name: string;
  readonly atMs: number;
  readonly end: (round: Round) => void;
  readonly fail: (failure: Error) => void;
}

let nowMs: number;
let begun: Begun[];
let notes: string[];
let failures: number;
let lagBytes: Record<string, number>;
let driver: ArchiveDriver<Database>;

beforeEach(() => {
  nowMs = 1_000_000;
  begun = [];
  notes = [];
  failures = 0;
  lagBytes = {};
  driver = new ArchiveDriver({
    open: ({ name }) => ({
      round: () =>
        new Promise((resolve, reject) => begun.push({ name, atMs: nowMs - 1_000_000, end: resolve, fail: reject })),
      lagBytes: async () => lagBytes[name] ?? 0,
    }),
    monotonicMs: () => nowMs,
    clock: { nowMs: () => nowMs - 1_000_000 },
    onFailure: ({ name }, failure, isFirst) => {
      failures += 1;
      if (isFirst) notes.push(`${name}: ${String(failure)}`);
    },
    onRecovered: ({ name }) => notes.push(`${name} recovered`),
  });
});

async function follow(...names: readonly string[]): Promise<void> {
  driver.follow(names.map((name) => ({ id: `id of ${name}`, name })));
  await settle();
}

/** Lets time pass, a tick each second. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    nowMs += 1_000;
    driver.tick();
    await settle();
  }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Ends the rounds that run. */
async function end(round: Round): Promise<void> {
  for (const { end: finish } of begun) finish(round);
  await settle();
}

function rounds(): readonly string[] {
  const found = begun.map(({ name, atMs }) => `${name} ${atMs}`);
  begun = [];
  return found;
}

describe('the driver of archivers', () => {
  it('begins a round of each database every five seconds, and at once when there is more', async () => {
    await follow('shop', 'carts');
    await end('partial');
    expect(rounds()).toEqual(['shop 0', 'carts 0', 'shop 0', 'carts 0']);
  });

  it('waits for a round that takes long, and begins the next one five seconds after its begin', async () => {
    await follow('shop');
    await pass(7);
    expect(begun).toHaveLength(1);
    await end('archived');
    expect(rounds()).toEqual(['shop 0', 'shop 7000']);
    await pass(5);
    expect(rounds()).toEqual([]);
  });

  it('runs four rounds side by side, and none twice before the others had their turn', async () => {
    await follow('1', '2', '3', '4', '5', '6');
    for (let index = 0; index < 3; index++) {
      begun[index]?.end('partial');
      await settle();
    }
    expect(rounds()).toEqual(['1 0', '2 0', '3 0', '4 0', '5 0', '6 0', '1 0']);
  });

  it('repeats a round that has failed after 1, 2, 4 and at most 60 seconds, and notes it once', async () => {
    await follow('shop');
    const times: number[] = [];
    for (let second = 0; second < 200; second++) {
      for (const { atMs, fail } of begun.splice(0)) {
        times.push(atMs / 1_000);
        fail(new Error('503'));
      }
      await settle();
      await pass(1);
    }
    expect(times.map((time, index) => time - (times[index - 1] ?? 0))).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
    expect([notes, failures]).toEqual([['shop: Error: 503'], 9]);
    await pass(43);
    expect(begun).toHaveLength(1);
    await end('current');
    expect(notes.at(-1)).toBe('shop recovered');
    begun = [];
    await pass(5);
    expect(begun).toHaveLength(1);
  });

  it('delays no database because another one fails', async () => {
    await follow('bad', 'good');
    for (let second = 0; second < 10; second++) {
      for (const { name, end: finish, fail } of begun) {
        if (name === 'bad') fail(new Error('damaged'));
        else finish('archived');
      }
      await settle();
      await pass(1);
    }
    expect(rounds().filter((round) => round.startsWith('good'))).toEqual(['good 0', 'good 5000', 'good 10000']);
  });

  it('archives what it follows now, and does not report what it followed before', async () => {
    await follow('shop', 'carts');
    const [shop] = begun;
    await follow('carts', 'new');
    shop?.fail(new Error('its rows are gone'));
    await settle();
    expect([notes, failures]).toEqual([[], 0]);
    await end('current');
    expect(rounds()).toEqual(['shop 0', 'carts 0', 'new 0']);
    await pass(5);
    expect(rounds()).toEqual(['carts 5000', 'new 5000']);
  });

  it('knows since when an archive lags, by the begin of the last round that archived everything', async () => {
    await follow('shop', 'carts');
    lagBytes = { shop: 100, carts: 7 };
    await pass(2);
    await end('waiting');
    rounds();
    await pass(3);
    begun.find(({ name }) => name === 'shop')?.end('archived');
    begun.find(({ name }) => name === 'carts')?.end('overtaken');
    await settle();
    expect(driver.progress(9)).toEqual([
      { name: 'carts', successMs: 0, lagBytes: 7 },
      { name: 'shop', successMs: 5_000, lagBytes: 100 },
    ]);
    rounds();
    await pass(5);
    await end('current');
    expect(driver.progress(1)).toEqual([{ name: 'shop', successMs: 10_000, lagBytes: 100 }]);
  });

  it('stops when the rounds that run have ended', async () => {
    await follow('shop');
    const stopped = driver.stop().then(() => notes.push('stopped'));
    await pass(10);
    expect([notes, begun.length]).toEqual([[], 1]);
    await end('archived');
    await stopped;
  });
});
