// A final test of each run after healing: the log's disk of a node with the leadership of a database stops. The other
// nodes are healthy, so within bounded time one of them becomes leader and they accept writes.
import { nodeOf } from '#base';
import type { SimCluster } from './cluster.ts';
import type { Simulator } from './engine/simulator.ts';
import type { SimNode } from './node/sim-node.ts';
import type { Connection } from './workload/connection.ts';
import { Sketches } from './workload/sketches.ts';

export interface StandstillParts {
  readonly simulator: Simulator;
  readonly cluster: SimCluster;
  readonly writer: Connection;
  readonly onProblem: (what: string) => void;
}

/** A database that can continue without its leader. */
export interface Led {
  readonly name: string;
  readonly group: Parameters<NonNullable<SimNode['process']>['leads']>[0];
  readonly leader: SimNode;
  readonly others: readonly SimNode[];
}

/** Share of the seeds with this test. */
const SHARE = 0.4;
/** Minimum number of voters of the database. */
const VOTERS_MIN = 3;
/** Time for the detection, an election, and a failed leadership transfer before. */
const TAKEN_OVER_US_MAX = 20_000_000;
const LOOK_US = 200_000;

/** Returns whether the test ran: it does not in every seed, nor without a database that others could lead. */
export async function othersGoOn(parts: StandstillParts): Promise<boolean> {
  const { simulator, cluster, onProblem } = parts;
  const led = simulator.random('standstill').chance(SHARE) ? ledIn(cluster)[0] : undefined;
  if (led === undefined) return false;
  const { name, leader } = led;
  simulator.note(`the disk of ${leader.name} stands still, which leads ${name}`);
  leader.disk.isStalled = true;
  const limitUs = simulator.nowUs + TAKEN_OVER_US_MAX;
  const found = await isWrittenTo(led, parts, limitUs);
  if (found !== 'deleted') {
    // A move may give the database to other nodes meanwhile.
    const isLed = (): boolean =>
      cluster.nodes.some((node) => node !== leader && node.process?.leads(led.group) === true);
    while (!isLed() && simulator.nowUs < limitUs) await simulator.sleep(LOOK_US, 'standstill');
    if (found === 'unwritten')
      onProblem(`nobody takes writes of ${name} while the disk of ${leader.name} stands still`);
    if (!isLed()) onProblem(`${leader.name} goes on leading ${name} while its disk stands still`);
  }
  leader.disk.isStalled = false;
  simulator.note(`the disk of ${leader.name} goes on`);
  return true;
}

/** True when one of the others accepts a write in time. A deletion in progress may delete the database. */
async function isWrittenTo(
  { name, others }: Led,
  { simulator, writer }: StandstillParts,
  limitUs: number,
): Promise<'written' | 'deleted' | 'unwritten'> {
  const sketches = new Sketches(simulator.random('standstill writes'));
  for (let attempt = 0; simulator.nowUs < limitUs; attempt += 1) {
    const other = others[attempt % others.length];
    if (other !== undefined) writer.turnTo(other);
    const transactionId = sketches.transactionId();
    const events = sketches.events('standstill');
    const { outcome } = await writer.call('transact', { name, transactionId, constraints: [], events });
    if (outcome.kind === 'ok') return 'written';
    if (outcome.kind === 'error' && outcome.reason === 'DatabaseNotFound') return 'deleted';
    await writer.sleep(LOOK_US);
  }
  return 'unwritten';
}

/** Databases with enough voters, all of which are running. */
export function ledIn({ nodes }: SimCluster): readonly Led[] {
  const bindings = nodes[0].process?.node?.catalog.list() ?? [];
  return bindings.flatMap(({ name, group, replicas, isSettled, leaving }) => {
    const holders = nodes.filter(({ process }) => {
      const self = process?.node?.identity.node;
      return replicas.some((replica) => nodeOf(replica) === self) && process?.membershipOf(group) !== undefined;
    });
    const leader = holders.find(({ process }) => process?.leads(group) === true);
    const voters = leader?.process?.membershipOf(group)?.voters;
    const isWhole = isSettled && leaving.length === 0 && voters?.outgoing.length === 0;
    if (leader === undefined || !isWhole || voters.incoming.length < VOTERS_MIN) return [];
    const others = holders.filter((node) => node !== leader);
    return others.length + 1 >= voters.incoming.length ? [{ name, group, leader, others }] : [];
  });
}
