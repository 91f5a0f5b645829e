// Hardly anybody asks for anything when everything is whole again. Then groups rest (C31), and what lets them rest must
// not keep them from acting, nor have them act without need:
//
// - whoever leads a database goes on leading it, nobody asks for votes, and the first who asks for something has it;
// - when the core of a node that leads stands still, and no connection breaks, others lead in its place;
// - when the cores of all others stand still, in whatever moment, nobody leads.
//
// A request would wake the group that it is for, and hide that it has slept through an election.
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
/** In one of so many seeds. */
const SHARE = 0.3;
/** Tables have repeated by then, and every group rests that may. */
const RESTED_US = 5 * SECOND_US;
const QUIET_US = 10 * SECOND_US;
/** In that time a lead may go to the node that should have it, and no further. */
const CHANGES_MAX = 1;
/** Elections that nobody wins come before one that somebody does. */
const TAKEN_OVER_US_MAX = 20 * SECOND_US;
/** A leader finds out that nobody hears it within a window, of 2.5 s at most. */
const GIVEN_UP_US_MAX = 8 * SECOND_US;
const LOOK_US = 200_000;
/** Until a group rests again that was written. */
const BEATS_MAX = 4;

/** Says whether it came to that: not in every seed, nor without a database that others could lead. */
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
    // What was written a moment ago may take the memory of a small node (C35).
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

/** The core of the node that leads these stands still. */
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

/** The cores of all others who vote for these stand still from the moment in which a beat is on its way to them. */
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
    // Its lead may have gone to the node that should have it: then there are no beats, and nobody stands still.
    if (first !== undefined && leads(first)) onProblem(`${leader?.name} leads ${first.name}, and says no beats`);
    return;
  }
  simulator.note(`${[...others].map(({ name }) => name).join(', ')} stand still, and ${leader?.name} leads`);
  await lookUntil(() => !led.some(leads), GIVEN_UP_US_MAX - LOOK_US, simulator);
  const alone = led.filter(leads);
  if (alone.length > 0) onProblem(`${leader?.name} goes on leading ${namesOf(alone)}, though nobody hears it`);
  await simulator.sleep(GIVEN_UP_US_MAX, 'stillness');
}

/** What whoever asks one that does not lead is told instead of the latest, if anything. */
async function readBy({ name, others }: Led, { writer }: StillnessParts): Promise<string | undefined> {
  const [other] = others;
  if (other !== undefined) writer.turnTo(other);
  const { outcome } = await writer.call('describe', { name, at: 'latest' });
  return outcome.kind === 'ok' ? undefined : JSON.stringify(outcome);
}

/** What the client is told instead of a revision, if anything. */
async function writeTo({ name, leader }: Led, { simulator, writer }: StillnessParts): Promise<string | undefined> {
  const sketches = new Sketches(simulator.random(`stillness writes ${simulator.nowUs}`));
  writer.turnTo(leader);
  const transactionId = sketches.transactionId();
  const events = sketches.events('stillness');
  const { outcome } = await writer.call('transact', { name, transactionId, constraints: [], events });
  return outcome.kind === 'ok' ? undefined : JSON.stringify(outcome);
}

async function lookUntil(isSo: () => boolean, limitUs: number, simulator: Simulator): Promise<void> {
  // Whoever stood still for as long would act in the moment of the last look.
  const untilUs = simulator.nowUs + limitUs - LOOK_US;
  while (!isSo() && simulator.nowUs < untilUs) await simulator.sleep(LOOK_US, 'stillness');
}

function namesOf(led: readonly Led[]): string {
  return led.map(({ name }) => name).join(', ');
}
