/** Faults that aim hit whom they mean, in the moment that they wait for, and let go again. */
import { describe, expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { Isolate } from './engine/isolate.ts';
import { Rng } from './engine/random.ts';
import { Simulator } from './engine/simulator.ts';
import { Overhear } from './faults/overhear.ts';
import { type Blow, drawTrap, type Trap, Trapper } from './faults/traps.ts';
import type { SaidMessage } from './invariants/raft-watch.ts';
import type { SimNode } from './node/sim-node.ts';
import { type Letter, PeerExchange } from './peers/exchange.ts';

const NAMES = ['node-1', 'node-2', 'node-3'] as const;
const NONE: Blow = { kind: 'none', delayUs: 0 };
const ALONE: Blow = { kind: 'alone', delayUs: 0 };
const POWER: Blow = { kind: 'power', delayUs: 0 };
const TRAP: Trap = {
  kind: 'trap',
  group: 0,
  word: 'ack',
  skip: 0,
  apart: 'nobody',
  turn: 0,
  restarts: false,
  slowness: 1,
  slows: 'followers',
  latencyUs: 0,
  speaker: NONE,
  hearer: NONE,
  waitUs: 1000,
  durationUs: 500,
};
const WORD: SaidMessage = {
  group: 7,
  from: 0,
  to: 0,
  kind: 'append',
  term: 2,
  isGranted: false,
  previous: undefined,
  entries: [],
};

/** Three nodes, of which the first leads group 7, and what happens to them. */
class Stage {
  readonly simulator = new Simulator(1);
  readonly exchange = new PeerExchange(this.simulator);
  readonly overhear = new Overhear();
  readonly crashes: string[] = [];
  readonly nodes: readonly SimNode[] = NAMES.map(
    (name) =>
      ({
        name,
        disk: { slowness: 1, isStalled: false },
        store: { slowness: 1 },
        running: { core: { pause: (us: number) => this.crashes.push(`${name} sleeps ${us}`) } },
        crash: ({ kind }: { readonly kind: string }) => this.crashes.push(`${name} ${kind}`),
      }) as unknown as SimNode,
  );
  readonly trapper = new Trapper(this);

  constructor() {
    this.say(1, 2, { kind: 'append' });
    this.say(2, 1, { kind: 'append-ack' });
    this.say(3, 1, { kind: 'append-ack' });
  }

  say(from: number, to: number, message: Partial<SaidMessage>): void {
    const places = { from: replicaOf(toNodeId(from)), to: replicaOf(toNodeId(to)) };
    this.overhear.said({ ...WORD, ...places, ...message }, NAMES[from - 1] ?? '');
  }

  async pass(us: number): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }

  /** Those pairs of nodes between which nothing gets through either way. */
  get cuts(): readonly string[] {
    const pairs = NAMES.flatMap((one, at) => NAMES.slice(at + 1).map((other) => [one, other] as const));
    const isCut = ([one, other]: readonly [string, string]): boolean =>
      !this.exchange.isOpen(one, other) && !this.exchange.isOpen(other, one);
    return pairs.filter(isCut).map(([one, other]) => `${one.slice(-1)}${other.slice(-1)}`);
  }
}

describe('Trapper', () => {
  it('cuts off who said the word before it gets out, and lets go of it in time', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, word: 'commit', speaker: ALONE });
    stage.say(1, 2, { kind: 'append-ack' });
    stage.say(1, 2, { kind: 'commit', group: 8 });
    expect(stage.cuts).toEqual([]);
    stage.say(1, 2, { kind: 'commit' });
    expect(stage.cuts).toEqual(['12', '13']);
    await stage.pass(499);
    expect(stage.cuts).toEqual(['12', '13']);
    await stage.pass(1);
    expect(stage.cuts).toEqual([]);
  });

  it('takes the power of who gave a vote, and cuts off who relies on it, while the leader comes back as another', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, word: 'vote', apart: 'leader', restarts: true, speaker: POWER, hearer: ALONE });
    expect(stage.cuts).toEqual(['12', '13']);
    stage.say(3, 2, { kind: 'vote-reply', isGranted: false });
    stage.say(3, 2, { kind: 'vote-reply', isGranted: true });
    await stage.pass(0);
    expect(stage.crashes).toEqual(['node-3 power', 'node-1 process']);
    expect(stage.cuts).toEqual(['12', '23']);
  });

  it('keeps as many followers apart as the others can do without, with slow disks, until it gives up', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, apart: 'followers', turn: 1, slowness: 30, speaker: POWER });
    expect(stage.cuts).toEqual(['13', '23']);
    expect(stage.nodes.map(({ disk }) => disk.slowness)).toEqual([1, 30, 30]);
    await stage.pass(1000);
    stage.say(2, 1, { kind: 'append-ack' });
    await stage.pass(1000);
    expect({ cuts: stage.cuts, crashes: stage.crashes }).toEqual({ cuts: [], crashes: [] });
    expect(stage.nodes.map(({ disk }) => disk.slowness)).toEqual([1, 1, 1]);
  });

  it('lets so many words go by, and closes once', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, skip: 2, hearer: POWER });
    for (let count = 0; count < 5; count += 1) stage.say(2, 1, { kind: 'append-ack' });
    await stage.pass(2000);
    expect(stage.crashes).toEqual(['node-1 power']);
  });

  it('has a leader sleep while nobody hears it, and wakes it before they do', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, word: 'commit', speaker: { kind: 'asleep', delayUs: 0 }, durationUs: 3_000_000 });
    stage.say(1, 2, { kind: 'commit' });
    expect({ cuts: stage.cuts, sleeps: stage.crashes }).toEqual({
      cuts: ['12', '13'],
      sleeps: ['node-1 sleeps 2900000'],
    });
    await stage.pass(3_000_000);
    expect(stage.cuts).toEqual([]);
  });

  it('has a leader find the answers to its last question when it wakes, and nothing of what came after them', async () => {
    const stage = new Stage();
    const arrivals: string[] = [];
    const stations = NAMES.map((host) => {
      const thread = new Isolate(stage.simulator, host, new Rng(1, host), () => undefined);
      const take = (from: string, { frame }: Letter): void => {
        arrivals.push(`${frame[0]} of ${from} at ${Math.round(thread.nowUs / 100_000)}`);
      };
      return { host, thread, take, lost: () => undefined, answer: () => undefined };
    });
    for (const station of stations) stage.exchange.enter(station);
    const [, second] = stations;
    const send = (word: number): void => {
      const letter: Letter = { frame: Uint8Array.of(word), lane: 'beats', mayStray: false };
      if (second !== undefined) stage.exchange.carry(second, 'node-1', letter, stage.simulator.nowUs);
    };
    const held: Blow = { kind: 'held', delayUs: 0 };
    stage.trapper.set({ ...TRAP, word: 'round', speaker: held, durationUs: 3_000_000, waitUs: 1_000_000 });
    stage.say(1, 2, { kind: 'beat', round: 4 });
    stage.say(1, 3, { kind: 'beat', round: 4 });
    expect(stage.crashes).toEqual([]);
    stage.say(1, 2, { kind: 'beat', round: 5 });
    send(1);
    await stage.pass(20_000);
    expect(stage.cuts).toEqual(['12', '13']);
    send(2);
    await stage.pass(2_990_000);
    send(3);
    await stage.pass(10_000);
    expect(stage.crashes).toEqual(['node-1 sleeps 2900000']);
    expect(arrivals).toEqual(['1 of node-2 at 29', '3 of node-2 at 30']);
  });

  it('has the disk stand still of who hears the first entries, and not of who is kept apart', async () => {
    const stage = new Stage();
    const stall: Blow = { kind: 'stall', delayUs: 0 };
    const disks = (): readonly unknown[] => stage.nodes.map(({ disk }) => [disk.isStalled, disk.slowness]);
    const entries = [{ index: 1, term: 2, digest: 0 }];
    stage.trapper.set({
      ...TRAP,
      word: 'entries',
      apart: 'followers',
      slowness: 300,
      slows: 'all',
      speaker: POWER,
      hearer: stall,
      durationUs: 900,
    });
    expect({ cuts: stage.cuts, disks: disks() }).toEqual({
      cuts: ['12', '23'],
      disks: [
        [false, 300],
        [false, 300],
        [false, 300],
      ],
    });
    stage.say(1, 2, { kind: 'append', entries });
    expect(stage.crashes).toEqual([]);
    stage.say(1, 3, { kind: 'append', entries });
    await stage.pass(899);
    expect({ crashes: stage.crashes, cuts: stage.cuts }).toEqual({ crashes: ['node-1 power'], cuts: [] });
    expect(stage.nodes.map(({ disk }) => disk.isStalled)).toEqual([false, false, true]);
    await stage.pass(2_000_001);
    expect(disks()).toEqual([
      [false, 1],
      [false, 1],
      [false, 1],
    ]);
  });

  it('does nothing once everything is to heal', async () => {
    const stage = new Stage();
    stage.trapper.set({ ...TRAP, speaker: POWER });
    stage.trapper.heal();
    stage.say(2, 1, { kind: 'append-ack' });
    await stage.pass(2000);
    expect(stage.crashes).toEqual([]);
  });

  it('is drawn for every word, and for everybody', () => {
    const drawn = Array.from({ length: 200 }, (_, seed) => drawTrap(new Rng(seed, 'trap')));
    expect(new Set(drawn.map(({ word }) => word))).toEqual(new Set(['vote', 'ack', 'commit', 'entries', 'lead']));
    expect(new Set(drawn.map(({ apart }) => apart))).toEqual(new Set(['nobody', 'leader', 'followers']));
  });
});
