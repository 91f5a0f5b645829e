/** Answers to writes that were passed on are lost as it was drawn, while nobody else has room, and for no longer. */
import { describe, expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { Isolate } from './engine/isolate.ts';
import { Rng } from './engine/random.ts';
import { Simulator } from './engine/simulator.ts';
import { drawInterception, type Interception, Interceptor } from './faults/interception.ts';
import type { SimNode } from './node/sim-node.ts';
import { PeerExchange } from './peers/exchange.ts';
import { type RelayEnd, RelayLines, type RelayStream } from './peers/relay-lines.ts';

const SECOND_US = 1_000_000;
const NAMES = ['node-1', 'node-2', 'node-3', 'node-4'] as const;
const INTERCEPTION: Interception = {
  kind: 'intercept',
  database: 0,
  spared: 'leader',
  word: 'answered',
  skip: 0,
  blow: 'reset',
  delayUs: 0,
  waitUs: 2 * SECOND_US,
  durationUs: SECOND_US,
};

/** Four nodes, of which the first holds nothing, the others hold a database, and the second leads it. */
class Stage {
  readonly simulator = new Simulator(1);
  readonly exchange = new PeerExchange(this.simulator);
  readonly lines = new RelayLines(this.exchange);
  readonly happened: string[] = [];
  readonly nodes: readonly SimNode[];
  readonly interceptor: Interceptor;

  constructor(holders: readonly number[] = [2, 3, 4]) {
    const nodes = NAMES.map((_, place) => ({ node: toNodeId(place + 1), state: 'active' }));
    const replicas = holders.map((holder) => replicaOf(toNodeId(holder)));
    const catalog = { nodes: () => nodes, list: () => [{ name: 'alpha', group: 7, replicas }] };
    this.nodes = NAMES.map((name, place) => {
      const process = { node: { catalog, identity: { node: toNodeId(place + 1) } }, leads: () => place === 1 };
      return {
        name,
        process,
        running: process,
        crash: ({ kind }: { readonly kind: string }) => this.happened.push(`${name} ${kind}`),
        leaveRoomFor: () => this.happened.push(`${name} full`),
        limitDisk: (bytes: number | undefined) => this.happened.push(`${name} ${bytes ?? 'has room'}`),
      } as unknown as SimNode;
    });
    this.interceptor = new Interceptor(this);
  }

  /** Begins a write of the first node at the second one, which takes it in. */
  async write(): Promise<RelayStream | undefined> {
    const [asking] = ['node-1', 'node-2'].map((host) => this.#begin(host));
    let stream: RelayStream | undefined;
    if (asking === undefined) return undefined;
    const begin = async (): Promise<void> => {
      const line = await this.lines.open(asking, 'node-2');
      stream = line?.begin({ onLost: () => this.happened.push('lost'), onLeft: () => undefined });
      stream?.heard('taken');
    };
    void begin();
    await this.simulator.runUntil(() => stream !== undefined, this.simulator.nowUs + SECOND_US / 10);
    return stream;
  }

  /** It is done, and the answer goes back. */
  answer(stream: RelayStream | undefined): void {
    stream?.heard('answered');
    stream?.back('answer', () => this.happened.push('answer'));
  }

  async pass(us: number): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }

  #begin(host: string): RelayEnd {
    const thread = new Isolate(this.simulator, host, this.simulator.random(host), () => undefined);
    const end = { host, thread, fail: () => undefined } as unknown as RelayEnd;
    this.lines.enter(end);
    return end;
  }
}

const FULL = ['node-3 full', 'node-4 full'];
const ROOM = ['node-3 has room', 'node-4 has room'];

describe('Interceptor', () => {
  it('loses the answer of who has committed it, and leaves the others full for so long', async () => {
    const stage = new Stage();
    stage.interceptor.do(INTERCEPTION);
    await stage.pass(SECOND_US / 2);
    stage.answer(await stage.write());
    await stage.pass(SECOND_US / 2);
    expect(stage.happened).toEqual([...FULL, 'lost']);
    await stage.pass(SECOND_US);
    expect(stage.happened).toEqual([...FULL, 'lost', ...ROOM]);
  });

  it.each(['process', 'power', 'silence'] as const)('has it lost by %s', async (blow) => {
    const stage = new Stage();
    stage.interceptor.do({ ...INTERCEPTION, blow, durationUs: 5 * SECOND_US });
    await stage.pass(SECOND_US / 2);
    stage.answer(await stage.write());
    await stage.pass(4 * SECOND_US);
    const ends = blow === 'silence' ? [] : [`node-2 ${blow}`];
    expect(stage.happened.toSorted()).toEqual([...FULL, ...ends, 'lost'].toSorted());
  });

  it('strikes so long after a write was taken in, and lets an answer before that pass', async () => {
    const stage = new Stage();
    stage.interceptor.do({ ...INTERCEPTION, word: 'taken', blow: 'process', delayUs: SECOND_US / 10 });
    await stage.pass(SECOND_US / 2);
    stage.answer(await stage.write());
    await stage.pass(SECOND_US / 20);
    expect(stage.happened).toEqual([...FULL, 'answer']);
    await stage.pass(SECOND_US / 10);
    expect(stage.happened).toEqual([...FULL, 'answer', 'node-2 process']);
  });

  it('lets so many go by, and gives up in time', async () => {
    const stage = new Stage();
    stage.interceptor.do({ ...INTERCEPTION, skip: 1 });
    await stage.pass(SECOND_US / 2);
    stage.answer(await stage.write());
    await stage.pass(2 * SECOND_US);
    expect(stage.happened).toEqual([...FULL, 'answer', ...ROOM]);
  });

  it('does nothing where every node holds a copy, or one alone, or nobody leads', async () => {
    for (const [holders, spared] of [
      [[1, 2, 3, 4], 'leader'],
      [[2], 'leader'],
      [[3, 4], 'leader'],
    ] as const) {
      const stage = new Stage(holders);
      stage.interceptor.do({ ...INTERCEPTION, spared });
      expect(stage.happened).toEqual([]);
    }
  });

  it('does nothing once everything is to heal', async () => {
    const stage = new Stage();
    stage.interceptor.do(INTERCEPTION);
    stage.interceptor.heal();
    await stage.pass(SECOND_US / 2);
    stage.answer(await stage.write());
    await stage.pass(4 * SECOND_US);
    expect(stage.happened).toEqual([...FULL, 'answer']);
  });

  it('is drawn for every word, with every blow', () => {
    const drawn = Array.from({ length: 100 }, (_, seed) => drawInterception(new Rng(seed, 'interception')));
    expect(new Set(drawn.map(({ word, blow }) => `${word} ${blow}`)).size).toBe(8);
  });
});
