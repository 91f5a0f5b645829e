// Goal: exactly one of several new nodes with the same seeds founds the cluster, and none while a seed may belong to a
// cluster (C45). Method: the decision of one node over a table of answers; then all nodes of a start, in every order of
// their store ids.
import { describe, expect, it } from 'vitest';
import { type Address, formatAddress } from '#base';
import type { Belonging, DialledAddress, Newcomer, NoAnswer } from '#cluster';
import { judgeFounding } from '../../../src/cluster/peer/founding.ts';

const SEEDS: readonly Address[] = [1, 2, 3].map((number) => ({ host: `n${number}`, port: 50_052 }));
const NAMES = SEEDS.map(formatAddress);

type Answers = Readonly<Record<string, Belonging | NoAnswer>>;

function newcomer(storeId: string, more: Partial<Newcomer> = {}): Newcomer {
  return { kind: 'new', storeId, mayFound: true, seeds: NAMES, ...more };
}

const SILENT: NoAnswer = { kind: 'no-answer', reason: 'connect ECONNREFUSED' };
const ALL_NEW: Answers = { n1: newcomer('a'), n2: newcomer('b'), n3: newcomer('c') };

/** A name is its own address unless `addresses` has it. */
function judge(
  self: Newcomer,
  answers: Answers,
  { seeds = SEEDS, addresses = {} }: { seeds?: readonly Address[]; addresses?: Record<string, readonly string[]> } = {},
): Promise<string | undefined> {
  const resolve = async ({ host, port }: Address): Promise<readonly DialledAddress[]> =>
    (addresses[host] ?? [host]).map((ip) => ({ host, port, ip }));
  const ask = async ({ host, ip = host }: DialledAddress): Promise<Belonging | NoAnswer> => answers[ip] ?? SILENT;
  return judgeFounding(self, seeds, { ask, resolve });
}

describe('a new node', () => {
  it('founds when all others are new, and no other may found or has a lower store id', async () => {
    await expect(judge(newcomer('a'), ALL_NEW)).resolves.toBeUndefined();
    const others = { ...ALL_NEW, n1: newcomer('a', { mayFound: false }) };
    await expect(judge(newcomer('b'), others)).resolves.toBeUndefined();
  });

  it('founds when a name has several addresses of one node', async () => {
    const addresses = { n2: ['n2', 'n2-by-ipv6'] };
    await expect(judge(newcomer('a'), ALL_NEW, { addresses })).resolves.toBeUndefined();
  });

  it.each<[string, Answers, RegExp]>([
    ['a seed belongs to a cluster', { n3: { kind: 'member', clusterId: 'C' } }, /waits for the cluster C of n3:50052/],
    ['a seed cannot be reached', { n2: SILENT }, /waits for n2:50052, which may belong to a cluster: connect/],
    ['a seed reads its data directory', { n2: { kind: 'starting' } }, /waits for n2:50052, which is starting/],
    ['another one has a lower store id', { n3: newcomer('A') }, /waits for n3:50052 to found/],
    ['another one has other seeds', { n2: newcomer('b', { seeds: ['n2:50052'] }) }, /n2:50052 .* another --join/],
    ['no seed is this node', { n1: newcomer('d') }, /none of the addresses in --join is that of this node/],
    // A name whose address belongs to another pod by now.
    ['two seeds are one other node', { n2: newcomer('c') }, /n3:50052 is the same node as another address/],
    ['two seeds are this node', { n2: newcomer('a') }, /n2:50052 is the same node as another address/],
    ['all seeds are this node', { n2: newcomer('a'), n3: newcomer('a') }, /names this node alone/],
  ])('waits when %s', async (_case, answers, why) => {
    await expect(judge(newcomer('a'), { ...ALL_NEW, ...answers })).resolves.toMatch(why);
  });

  it.each([
    [['n1', 'n2', 'n3'], /nodes:50052 resolves to 3 nodes/],
    [['n1'], /names this node alone/],
    [['n2'], /none of the addresses/],
    [[], /nodes:50052, .* its name is not known/],
  ])('waits when its only seed is a name that resolves to %j', async (found, why) => {
    const seeds = [{ host: 'nodes', port: 50_052 }];
    const answers = { n1: newcomer('a'), n2: newcomer('b'), n3: newcomer('c') };
    await expect(judge(newcomer('a'), answers, { seeds, addresses: { nodes: found } })).resolves.toMatch(why);
  });

  it.each(['a b c', 'a c b', 'b a c', 'b c a', 'c a b', 'c b a'])(
    'is the only one that founds among %s',
    async (ids) => {
      const all = ids.split(' ').map((id) => newcomer(id));
      const answers = Object.fromEntries(all.map((each, at) => [`n${at + 1}`, each]));
      const verdicts = await Promise.all(all.map((each) => judge(each, answers)));
      expect(verdicts.filter((why) => why === undefined)).toHaveLength(1);
    },
  );
});
