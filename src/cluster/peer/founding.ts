/**
 * Decides whether a node with an empty data directory founds a cluster (ADR 0034). Nodes that are started at the same
 * time with the same `--join` form one cluster, and a node that has lost its disk never founds a second one.
 *
 * ```
 *   a seed belongs to a cluster ───────────────> joins it, whatever the others say
 *   a seed does not answer, or is starting ────> waits: it may belong to one
 *   two seeds are the same node ───────────────> waits: one of the names is not that node's, or not any more
 *   all are new, with the same seeds,
 *     and this one has the lowest store id ────> founds
 *     and another one has it ──────────────────> waits for that one
 * ```
 *   C45  At most one of the nodes with the same seeds founds: each needs the reply of all others that they are new, and
 *        the higher of two store ids never founds.
 */
import { type Address, formatAddress } from '#base';
import type { AskBelonging, Newcomer } from './belonging.ts';
import type { DialledAddress, JoinPorts } from './join.ts';

const ASK_TIMEOUT_MS = 5_000;

interface Heard {
  readonly seed: string;
  readonly newcomer: Newcomer;
}

/** Why this node does not found a cluster yet; undefined: it does. */
export async function judgeFounding(
  self: Newcomer,
  seeds: readonly Address[],
  ports: { readonly ask: AskBelonging; readonly resolve: NonNullable<JoinPorts['resolve']> },
): Promise<string | undefined> {
  const found = await Promise.all(
    seeds.map(async (seed) => askSeed(formatAddress(seed), await ports.resolve(seed), ports.ask)),
  );
  const heard: Heard[] = [];
  for (const each of found) {
    if (typeof each === 'string') return each;
    heard.push(each);
  }
  return faultInFounding(self, heard);
}

/** Returns what the node at the seed reports, or why this node waits for it. */
async function askSeed(seed: string, addresses: readonly DialledAddress[], ask: AskBelonging): Promise<Heard | string> {
  const answers = await Promise.all(addresses.map((address) => ask(address, ASK_TIMEOUT_MS)));
  let silence = 'its name is not known';
  const found = new Map<string, Newcomer>();
  for (const answer of answers) {
    if (answer.kind === 'member') return `it waits for the cluster ${answer.clusterId} of ${seed} to let it join`;
    if (answer.kind === 'starting') return `it waits for ${seed}, which is starting`;
    if (answer.kind === 'new') found.set(answer.storeId, answer);
    else silence = answer.reason;
  }
  const [newcomer] = found.values();
  if (newcomer === undefined) return `it waits for ${seed}, which may belong to a cluster: ${silence}`;
  if (found.size > 1)
    return `${seed} resolves to ${found.size} nodes: to found a cluster, name each by itself in --join`;
  return { seed, newcomer };
}

function faultInFounding(self: Newcomer, heard: readonly Heard[]): string | undefined {
  const others = heard.filter(({ newcomer }) => newcomer.storeId !== self.storeId);
  if (others.length === heard.length)
    return 'none of the addresses in --join is that of this node: to found a cluster, name all of its first nodes, this one too';
  const [other] = others;
  if (other === undefined)
    return '--join names this node alone: to found a cluster of one node name it as --advertise-host and --peer-port do, or leave --join out; otherwise name the others, too';
  const ids = heard.map(({ newcomer }) => newcomer.storeId);
  const twice = heard.find((_each, at) => ids.indexOf(ids[at] ?? '') < at);
  if (twice !== undefined)
    return `${twice.seed} is the same node as another address in --join: to found a cluster, each must be another node's`;
  const differing = others.find(({ newcomer }) => !isSameSet(newcomer.seeds, self.seeds));
  if (differing !== undefined)
    return `${differing.seed} was started with another --join (${differing.newcomer.seeds.join()}): to found a cluster, give all of its first nodes the same`;
  const first = others.find(({ newcomer }) => newcomer.mayFound && newcomer.storeId < self.storeId);
  return first && `it waits for ${first.seed} to found the cluster`;
}

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(some);
  return set.size === new Set(others).size && others.every((each) => set.has(each));
}
