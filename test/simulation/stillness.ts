// A final test of each run after healing: with hardly any requests, groups rest (C31). Resting must neither prevent nor
// cause actions:
//
//   - the leader of a database stays leader, no replica campaigns, and the first request succeeds;
//   - when the core of a leader's node is suspended without breaking a connection, others take over;
//   - when the cores of all other nodes are suspended at any moment, there is no leader.
//
// A request would wake its group and hide that it missed an election.
import type { SimCluster } from './cluster.ts';
import type { Rng } from './engine/random.ts';
import type { Simulator } from './engine/simulator.ts';
import { type Led, ledIn } from './standstill.ts';
import type { Connection } from './workload/connection.ts';
import { Sketches } from './workload/sketches.ts';

export interface StillnessParts {
  readonly simulator: Simulator;
  readonly cluster: SimCluster;
  readonly writer: Connection;
  readonly onProblem: (what: string) => void;
}

const SECOND_US = 1_000_000;
/** Share of the seeds with this test. */
const SHARE = 0.3;
/** Longer than a trap isolates a node (9 s). Heartbeat tables have repeated then, and every group rests that can. */
const RESTED_US = 10 * SECOND_US;
const QUIET_US = 10 * SECOND_US;
/** In that time a leadership may move to the preferred node, but no further. */
const CHANGES_MAX = 1;
/** Time for elections without a winner before the successful one. */
const TAKEN_OVER_US_MAX = 20 * SECOND_US;
/** A leader detects its isolation within an election window, which is at most 2.5 s. */
const GIVEN_UP_US_MAX = 8 * SECOND_US;
const LOOK_US = 200_000;
/** Maximum number of heartbeats until a group rests again after a write. */
const BEATS_MAX = 4;

/** Returns whether the test ran: it does not in every seed, nor without a database that others could lead. */
export async function leadsRest(parts: StillnessParts): Promise<boolean> {
  const { simulator, cluster } = parts;
  const random = simulator.random('stillness');
  if (cluster.nodes.length === 1 || !random.chance(SHARE)) return false;
  simulator.note('hardly anybody asks for anything');
  await simulator.sleep(RESTED_US, 'stillness');
  await leadsStay(ledIn(cluster), parts);
  const led = ledIn(cluster);
  const leader = random.pickFrom(led)?.leader;
  if (leader === undefined) return false;
  const ofLeader = led.filter((each) => each.leader === leader);
  if (random.chance(0.5)) await othersTakeOver(ofLeader, parts);
  else await nobodyLeadsAlone(ofLeader, random, parts);
  return true;
}

async function leadsStay(led: readonly Led[], parts: StillnessParts): Promise<void> {
  const { simulator, cluster, onProblem } = parts;
  const groups = new Set<number>(led.map(({ group }) => group));
  const changes = new Map<number, number>();
  const doubts = new Set<string>();
  const hearsLeads = cluster.overhear.hearLeads((group) => changes.set(group, (changes.get(group) ?? 0) + 1));
  const hearsVotes = cluster.overhear.listen(({ speaker, message: { group, kind } }) => {
    if (kind === 'pre-vote-request' && groups.has(group)) doubts.add(`${speaker} asks for votes of group ${group}`);
  });
  await simulator.sleep(QUIET_US, 'stillness');
  for (const each of led) {
    const refused = (await readBy(each, parts)) ?? (await writeTo(each, parts));
    if (refused !== undefined) onProblem(`the first who asks for ${each.name} after a rest is told ${refused}`);
    // Recently written entries may use up the memory of a small node (C35).
    await simulator.sleep(SECOND_US, 'stillness');
  }
  await simulator.sleep(QUIET_US, 'stillness');
  hearsLeads();
  hearsVotes();
  for (const doubt of doubts) onProblem(`${doubt}, which is led, and nobody is silent`);
  for (const [group, count] of changes) {
    if (count > CHANGES_MAX) onProblem(`hardly anybody asks for anything, and group ${group} has ${count} new leads`);
  }
}

/** Suspends the core of the node that leads these databases. */
async function othersTakeOver(led: readonly Led[], { simulator, onProblem }: StillnessParts): Promise<void> {
  const leader = led[0]?.leader;
  simulator.note(`${leader?.name} stands still, which leads ${namesOf(led)}`);
  leader?.running?.core.pause(TAKEN_OVER_US_MAX);
  const isLed = ({ group, others }: Led): boolean => others.some(({ process }) => process?.leads(group) === true);
  await lookUntil(() => led.every(isLed), TAKEN_OVER_US_MAX, simulator);
  const forgotten = led.filter((each) => !isLed(each));
  if (forgotten.length > 0) {
    onProblem(`${leader?.name} stands still, nobody asks for ${namesOf(forgotten)}, and nobody leads them`);
  }
  await simulator.sleep(TAKEN_OVER_US_MAX, 'stillness');
}

/** Suspends the cores of all other voters of these databases, when a heartbeat to them is in transit. */
async function nobodyLeadsAlone(led: readonly Led[], random: Rng, parts: StillnessParts): Promise<void> {
  const { simulator, cluster, onProblem } = parts;
  const [first] = led;
  const leader = first?.leader;
  const others = new Set(led.flatMap((each) => each.others));
  if (first !== undefined && random.chance(0.5)) await writeTo(first, parts);
  let beats = random.between(1, BEATS_MAX);
  const stop = cluster.overhear.listen(({ speaker, message: { group, kind } }) => {
    if (kind !== 'beat' || group !== first?.group || speaker !== leader?.name) return;
    beats -= 1;
    if (beats === 0) for (const { running } of others) running?.core.pause(GIVEN_UP_US_MAX);
  });
  await lookUntil(() => beats <= 0, GIVEN_UP_US_MAX, simulator);
  stop();
  const leads = ({ group }: Led): boolean => leader?.process?.leads(group) === true;
  if (beats > 0) {
    // The leadership may have moved to the preferred node: then there are no heartbeats, and nothing is suspended.
    if (first !== undefined && leads(first)) onProblem(`${leader?.name} leads ${first.name}, and says no beats`);
    return;
  }
  simulator.note(`${[...others].map(({ name }) => name).join(', ')} stand still, and ${leader?.name} leads`);
  await lookUntil(() => !led.some(leads), GIVEN_UP_US_MAX - LOOK_US, simulator);
  const alone = led.filter(leads);
  if (alone.length > 0) onProblem(`${leader?.name} goes on leading ${namesOf(alone)}, though nobody hears it`);
  await simulator.sleep(GIVEN_UP_US_MAX, 'stillness');
}

/** The outcome of a latest read at a follower, if it is not a success. */
async function readBy({ name, others }: Led, { writer }: StillnessParts): Promise<string | undefined> {
  const [other] = others;
  if (other !== undefined) writer.turnTo(other);
  const { outcome } = await writer.call('describe', { name, at: 'latest' });
  return outcome.kind === 'ok' ? undefined : JSON.stringify(outcome);
}

/** The outcome of a write, if it is not a success. */
async function writeTo({ name, leader }: Led, { simulator, writer }: StillnessParts): Promise<string | undefined> {
  const sketches = new Sketches(simulator.random(`stillness writes ${simulator.nowUs}`));
  writer.turnTo(leader);
  const transactionId = sketches.transactionId();
  const events = sketches.events('stillness');
  const { outcome } = await writer.call('transact', { name, transactionId, constraints: [], events });
  return outcome.kind === 'ok' ? undefined : JSON.stringify(outcome);
}

async function lookUntil(isSo: () => boolean, limitUs: number, simulator: Simulator): Promise<void> {
  // A node that was suspended for this long would act at the moment of the last check.
  const untilUs = simulator.nowUs + limitUs - LOOK_US;
  while (!isSo() && simulator.nowUs < untilUs) await simulator.sleep(LOOK_US, 'stillness');
}

function namesOf(led: readonly Led[]): string {
  return led.map(({ name }) => name).join(', ');
}
