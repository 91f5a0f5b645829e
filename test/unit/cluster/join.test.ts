// Goal: a store that joins follows answers to the leader, retries until its timeout, and fails with a reason; a node
// announces its address. Method: nodes with scripted answers.
import { describe, expect, it } from 'vitest';
import { type Address, formatAddress, replicaOf, toNodeId } from '#base';
import {
  type AskToJoin,
  type Joined,
  type JoinReply,
  type JoinRequest,
  joinCluster,
  type NodeRegistration,
} from '#cluster';
import { Announcer, type AnnouncerPorts } from '../../../src/cluster/peer/announcer.ts';
import { forOwnAndOthers } from '../../../src/cluster/peer/join.ts';
import { registrationOf } from '../../support/cluster/kept-world.ts';
import { CLUSTER, placeOf } from '../../support/peer-nodes.ts';

const REQUEST: JoinRequest = {
  clusterId: undefined,
  registration: registrationOf(9),
  release: '',
  run: 0,
};
const JOINED: Joined = {
  kind: 'joined',
  clusterId: CLUSTER,
  node: toNodeId(9),
  founders: [replicaOf(toNodeId(1))],
  nodes: [],
};
const at = (port: number): Address => ({ host: 'seed', port });
const later = (reason: string): JoinReply => ({ kind: 'later', reason });

/** Nodes with a list of answers for each address, of which the last one repeats. */
class Script {
  readonly asked: string[] = [];
  nowMs = 0;
  readonly #replies: ReadonlyMap<string, JoinReply[]>;

  constructor(replies: Readonly<Record<string, JoinReply[]>>) {
    this.#replies = new Map(Object.entries(replies));
  }

  readonly ask: AskToJoin = async (address) => {
    const name = formatAddress(address);
    this.asked.push(name);
    const replies = this.#replies.get(name) ?? [];
    return (replies.length > 1 ? replies.shift() : replies[0]) ?? later('it is not there');
  };

  readonly sleep = async (ms: number): Promise<void> => {
    this.nowMs += ms;
  };

  readonly monotonicMs = (): number => this.nowMs;
}

describe('a store that joins', () => {
  it('follows the answer of a seed to the leader', async () => {
    const script = new Script({ 'seed:2': [{ kind: 'elsewhere', leader: at(3) }], 'seed:3': [JOINED] });
    await expect(joinCluster(script, [at(1), at(2)], REQUEST, 1_000)).resolves.toEqual(JOINED);
    expect(script.asked).toEqual(['seed:1', 'seed:2', 'seed:3']);
  });

  it('retries with growing pauses while no seed knows a leader', async () => {
    const script = new Script({ 'seed:1': [later('no leader'), later('no leader'), later('no leader'), JOINED] });
    await expect(joinCluster(script, [at(1)], REQUEST, 10_000)).resolves.toEqual(JOINED);
    expect(script.nowMs).toBe(200 + 400 + 800);
  });

  it('fails after its timeout, with the answer of each seed', async () => {
    const script = new Script({ 'seed:2': [later('no leader')] });
    await expect(joinCluster(script, [at(1), at(2)], REQUEST, 30_000)).rejects.toMatchObject({
      message: expect.stringContaining('within 30000 ms (seed:1: it is not there; seed:2: no leader)'),
      code: 'unavailable',
      details: { reason: 'NotJoined' },
    });
    expect(script.nowMs).toBeLessThan(30_000);
  });

  it.each<[JoinReply, RegExp, string]>([
    [{ kind: 'refused', reason: 'old' }, /^The node at seed:1 does not let this one join: old$/, 'JoinRefused'],
    [{ kind: 'removed', node: toNodeId(9) }, /^Node 9 was removed from its cluster/, 'NodeRemoved'],
  ])('fails at once when the answer is %o', async (reply, message, reason) => {
    const script = new Script({ 'seed:1': [reply] });
    const failure = { message: expect.stringMatching(message), details: { reason } };
    await expect(joinCluster(script, [at(1)], REQUEST, 30_000)).rejects.toMatchObject(failure);
  });

  it('does not follow nodes that name each other in a circle', async () => {
    const script = new Script({
      'seed:1': [{ kind: 'elsewhere', leader: at(2) }],
      'seed:2': [{ kind: 'elsewhere', leader: at(1) }],
    });
    await expect(joinCluster(script, [at(1)], REQUEST, 0)).rejects.toThrow('name each other');
    expect(script.asked).toHaveLength(4);
  });
});

describe('a node that announces its address', () => {
  const announcer = (
    script: Script,
    own: JoinReply[],
    shown: NodeRegistration[] = [],
    more: Partial<AnnouncerPorts> = {},
  ): Announcer =>
    new Announcer({
      clusterId: CLUSTER,
      node: toNodeId(9),
      isLed: () => true,
      noteRemoved: async () => undefined,
      release: '',
      run: 1,
      register: async () => (own.length > 1 ? own.shift() : own[0]) ?? later('nobody leads'),
      ask: script.ask,
      shown: () => (shown.length > 1 ? shown.shift() : shown[0]),
      others: () => [at(1), at(2)],
      sleep: script.sleep,
      ...more,
    });

  it('asks the leader that its core knows, and the other nodes when it knows none', async () => {
    const script = new Script({ 'seed:7': [later('it has just lost the lead')], 'seed:2': [later('wait'), JOINED] });
    const own: JoinReply[] = [{ kind: 'elsewhere', leader: at(7) }, later('nobody leads')];
    await announcer(script, own).announce(REQUEST.registration);
    expect(script.asked).toEqual(['seed:7', 'seed:1', 'seed:2', 'seed:1', 'seed:2']);
  });

  it('fails when the cluster refuses it', async () => {
    const failure = { message: 'The cluster does not accept this node: old', details: { reason: 'JoinRefused' } };
    const refused = announcer(new Script({}), [{ kind: 'refused', reason: 'old' }]).announce(REQUEST.registration);
    await expect(refused).rejects.toMatchObject(failure);
  });

  it('announces it again when the catalog has another address, from a late request of an earlier process', async () => {
    const script = new Script({});
    const former = { ...REQUEST.registration, grpc: 'former:1' };
    // Registration in the catalog: unknown, right, former, still former, and right again.
    const shown = [REQUEST.registration, REQUEST.registration, former, former, REQUEST.registration];
    const own: JoinReply[] = [JOINED, JOINED];
    const asked: string[] = [];
    const says = announcer(script, own, shown);
    await says.announce(REQUEST.registration);
    await says.review();
    asked.push(`${own.length} left`);
    await says.review();
    expect([asked, shown.length, script.nowMs > 0]).toEqual([['1 left'], 1, true]);
  });

  it('stops when the seed belongs to another cluster', async () => {
    const script = new Script({ 'seed:1': [{ kind: 'refused', reason: 'this is another cluster' }] });
    await expect(announcer(script, []).announce(REQUEST.registration)).rejects.toThrow('this is another cluster');
  });

  describe('and was removed while it was away (C39)', () => {
    const removed = (node: number): JoinReply => ({ kind: 'removed', node: toNodeId(node) });
    const REMOVED = {
      message: expect.stringMatching(/^Node 9 was removed from its cluster/),
      details: { reason: 'NodeRemoved' },
    };
    const noting = (notes: string[], isLed: () => boolean = () => false): Partial<AnnouncerPorts> => ({
      isLed,
      noteRemoved: async () => void notes.push('noted'),
    });

    it('ends as soon as one node reports it, and records it for the next process', async () => {
      const script = new Script({ 'seed:2': [removed(9)] });
      const notes: string[] = [];
      const says = announcer(script, [], [], noting(notes));
      await expect(says.announce(REQUEST.registration)).rejects.toMatchObject(REMOVED);
      expect([script.asked, notes]).toEqual([['seed:1', 'seed:2'], ['noted']]);
    });

    it('asks all other nodes when its own catalog is unchanged and has no leader', async () => {
      const elsewhere: JoinReply = { kind: 'elsewhere', leader: at(3) };
      const script = new Script({ 'seed:1': [JOINED], 'seed:2': [elsewhere], 'seed:3': [later('wait'), removed(9)] });
      const notes: string[] = [];
      const says = announcer(script, [JOINED], [], noting(notes));
      await says.announce(REQUEST.registration);
      expect(script.asked).toEqual([]);
      await expect(says.watch()).rejects.toMatchObject(REMOVED);
      expect(script.asked).toEqual(['seed:1', 'seed:2', 'seed:3', 'seed:1', 'seed:2', 'seed:3']);
      expect([script.nowMs, notes]).toEqual([15_000, ['noted']]);
    });

    it('asks no node while there is a leader, or before it has announced its address', async () => {
      const script = new Script({ 'seed:1': [removed(9)] });
      let looks = 0;
      const port = noting([], () => {
        looks += 1;
        if (looks === 7) says.close();
        return looks % 2 === 0;
      });
      const says = announcer(script, [JOINED], [], port);
      await says.announce(REQUEST.registration);
      await says.watch();
      expect([looks, script.asked]).toEqual([7, []]);
      const silent = announcer(
        script,
        [],
        [],
        noting([], () => {
          looks += 1;
          if (looks === 12) silent.close();
          return false;
        }),
      );
      await silent.watch();
      expect([looks, script.asked]).toEqual([12, []]);
    });

    it('ignores answers about another number', async () => {
      const script = new Script({ 'seed:1': [removed(8)], 'seed:2': [removed(8), removed(8), removed(9)] });
      const says = announcer(script, [JOINED], [], noting([]));
      await says.announce(REQUEST.registration);
      await expect(says.watch()).rejects.toMatchObject(REMOVED);
      expect(script.asked).toHaveLength(6);
    });

    it('ends also when it cannot record it', async () => {
      const script = new Script({ 'seed:1': [removed(9)] });
      const failing = { ...noting([]), noteRemoved: () => Promise.reject(new Error('the disk is full')) };
      await expect(announcer(script, [], [], failing).announce(REQUEST.registration)).rejects.toMatchObject(REMOVED);
    });
  });
});

describe('a node that receives requests to register', () => {
  const { registration } = REQUEST;
  const moved = { ...REQUEST, registration: { ...registration, peer: { host: 'elsewhere', port: 9 } } };

  it('accepts its own request, rejects a newcomer with its store id, but lets a member ask other nodes (TP12)', async () => {
    const { own, others } = forOwnAndOthers(registration.storeId, async () => JOINED);
    expect(await others(REQUEST)).toMatchObject({ kind: 'refused' });
    expect(await own(REQUEST)).toEqual(JOINED);
    const reason = `the store ${registration.storeId} is that of this node itself`;
    expect(await others(moved)).toEqual({ kind: 'refused', reason });
    expect(await others({ ...moved, clusterId: CLUSTER })).toEqual({ kind: 'later', reason });
  });

  it('answers its own request when it returns because a seed is its own address', async () => {
    const { own, others } = forOwnAndOthers(registration.storeId, async () => JOINED);
    await own(REQUEST);
    expect(await others(REQUEST)).toEqual(JOINED);
  });

  it('answers other stores', async () => {
    const { others } = forOwnAndOthers(placeOf(8).store, async () => JOINED);
    expect(await others(moved)).toEqual(JOINED);
  });
});
