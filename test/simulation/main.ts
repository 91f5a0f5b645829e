/**
 * The command `npm run sim`: runs the simulation.
 *
 *   npm run sim -- --seed 7                        one seed, with all its events
 *   npm run sim -- --seed 7 --faults 3,5 --operations 40    the same, reduced
 *   npm run sim -- --seeds 200 [--from 1]          many seeds; each failure is reduced and printed
 *   npm run sim -- --seeds 200 --until-failure     the same without reduction; stops at the first failure
 *   npm run sim -- --seeds 200 --first 7,8         starts with these seeds
 *   npm run sim -- --seeds 200 --nodes 3           number of nodes in each; by default one, three, five or seven
 *   npm run sim -- --seeds 200 --nodes 3 --aimed   aimed faults only (faults/traps.ts, one kind of plan.ts)
 *   npm run sim -- --seeds 200 --nodes 3 --lanes   with the real lanes between nodes, over simulated sockets
 *   npm run sim -- --seeds 200 --nodes 3 --lanes --aimed   aimed faults of lanes only
 *   npm run sim -- --seeds 200 --definitions       also define, change and delete components
 *   npm run sim -- --seeds 200 --times             effective times, and reads by them and by recorded times
 *   npm run sim -- --seeds 200 --cuts              stores lose their last writes, rows or bits of a history; logs lose
 *                                                  a segment
 *   npm run sim -- --seeds 200 --nodes 5 --resized   copies of databases change, and replicas are found damaged
 *   npm run sim -- --seeds 200 --restored          a volume is restored from an earlier copy (faults/put-back.ts), and
 *                                                  no other fault
 *   npm run sim -- --seeds 200 --unchecked         without the invariants of #raft, which are checked after every step
 *
 * It exits with 1 after a failure. The first and every hundredth seed run twice, and both runs must be equal.
 */
import { readNumber, readNumbers, readOptions, refuse, refuseAlone } from '../../scripts/support/command-line.ts';
import { minimise, replayCommand, seedCommand } from './minimise.ts';
import { MODES, type Modes } from './modes.ts';
import { forbidRealWorld } from './real-world.ts';
import { NoSuchFault, type RunOptions, type RunResult, runSeed } from './scenario.ts';

const TWICE_EVERY = 100;
const PROBLEMS_SHOWN = 5;

const realMs = performance.now.bind(performance);
const texts = { seed: undefined, seeds: undefined, from: undefined, first: undefined, nodes: undefined };
const values = readOptions({ ...texts, faults: undefined, operations: undefined }, ['until-failure', ...MODES]);
const modes: Modes = Object.fromEntries(MODES.map((mode) => [mode, mode in values]));
const endsAtFailure = 'until-failure' in values;
if (values.seed !== undefined && values.seeds !== undefined) refuse('--seed and --seeds do not go together');
refuseAlone(values, ['from', 'first', 'until-failure'], 'seeds');
refuseAlone(values, ['faults', 'operations'], 'seed');
const nodes = values.nodes === undefined ? undefined : whole('nodes', values.nodes, 1);
const run =
  values.seeds === undefined
    ? {
        seed: whole('seed', values.seed ?? '1', 0),
        options: { nodes, ...modes, ...optionsOf() },
      }
    : { seeds: seedsOf(values.seeds) };
forbidRealWorld();
// Stack traces of errors that clients receive are never read; the trap above needs the last two frames.
if (run.seeds !== undefined) Error.stackTraceLimit = 2;
process.exitCode = run.seeds === undefined ? await one(run.seed, run.options) : await many(run.seeds);

async function one(seed: number, options: RunOptions): Promise<number> {
  const result = await runChosen(seed, options);
  const tally = [...result.tally].toSorted(([left], [right]) => (left < right ? -1 : 1));
  for (const [how, count] of tally) say(`${String(count).padStart(6)}  ${how}`);
  say(
    `trace ${result.traceHash}, ${result.eventCount} events, ${(result.simulatedUs / 1e6).toFixed(3)} simulated seconds`,
  );
  for (const problem of result.problems) say(`PROBLEM  ${problem}`);
  say(`undecided: ${result.undecided}`);
  return result.problems.length === 0 ? 0 : 1;
}

/** Manually selected faults or operations may not exist. */
async function runChosen(seed: number, options: RunOptions): Promise<RunResult> {
  try {
    return await runSeed(seed, { ...options, listener: say });
  } catch (error) {
    if (error instanceof NoSuchFault) return refuse(`--faults ${error.message}`);
    throw error;
  }
}

async function many(seeds: readonly number[]): Promise<number> {
  const startedMs = realMs();
  let failures = 0;
  const total = { simulatedUs: 0, operations: 0, events: 0, faults: 0, undecided: 0 };
  let half = { simulated: 0, cpuSeconds: 0 };
  for (const [place, seed] of seeds.entries()) {
    if (place === seeds.length >> 1) half = { simulated: total.simulatedUs / 1e6, cpuSeconds: cpuSecondsNow() };
    const result = await runSeed(seed, { nodes, ...modes });
    total.simulatedUs += result.simulatedUs;
    total.operations += result.operationCount;
    total.events += result.eventCount;
    total.faults += result.faults.length;
    total.undecided += result.undecided;
    const isTwice = !endsAtFailure && (seed === seeds[0] || seed % TWICE_EVERY === 0);
    const leak = isTwice ? await difference(result) : undefined;
    if (isTwice) total.simulatedUs += result.simulatedUs;
    if (result.problems.length === 0 && leak === undefined) continue;
    failures += 1;
    await explain(result, leak);
    if (endsAtFailure) break;
  }
  const seconds = (realMs() - startedMs) / 1000;
  const simulated = total.simulatedUs / 1e6;
  const cpuSeconds = cpuSecondsNow();
  say(
    `${seeds.length} seeds from ${seeds[0]}: ${failures} failed, undecided: ${total.undecided}; ` +
      `${total.operations} operations, ${total.faults} faults, ${total.events} events`,
  );
  say(
    `${simulated.toFixed(0)} simulated seconds in ${seconds.toFixed(1)} s (${(simulated / seconds).toFixed(1)} to 1), ` +
      `${cpuSeconds.toFixed(1)} s of CPU (${(simulated / cpuSeconds).toFixed(1)} to 1)`,
  );
  const laterRate = (simulated - half.simulated) / (cpuSeconds - half.cpuSeconds);
  if (seeds.length > 1) say(`the second half of them, when most is compiled: ${laterRate.toFixed(1)} to 1 of CPU`);
  return failures === 0 ? 0 : 1;
}

function cpuSecondsNow(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Runs the seed again: a difference means that something in it depends on the real world. */
async function difference(result: RunResult): Promise<string | undefined> {
  const again = await runSeed(result.seed, { nodes: result.nodes, ...modes });
  if (again.traceHash === result.traceHash) return undefined;
  return `two runs of the seed differ: ${result.traceHash} and ${again.traceHash}`;
}

async function explain(result: RunResult, leak: string | undefined): Promise<void> {
  const { seed, problems } = result;
  for (const problem of [...(leak === undefined ? [] : [leak]), ...problems].slice(0, PROBLEMS_SHOWN)) {
    say(`seed ${seed} (${result.nodes} nodes): ${problem}`);
  }
  if (leak !== undefined || endsAtFailure) {
    return say(`  ${seedCommand(result)}`);
  }
  const small = await minimise(result);
  say(
    `  ${small.faults.length} of ${result.faults.length} faults and ${small.operations} of ${result.operationCount} operations do, after ${small.runs} runs:`,
  );
  for (const { number, action } of small.result.faults) say(`    fault ${number}: ${JSON.stringify(action)}`);
  say(`    ${small.result.problems[0] ?? ''}`);
  say(`  ${replayCommand(small)}`);
}

function optionsOf(): RunOptions {
  const { faults, operations } = values;
  return {
    ...(faults === undefined ? {} : { faults: faults === 'none' ? [] : readNumbers('faults', faults, 0) }),
    ...(operations === undefined ? {} : { operations: whole('operations', operations, 0) }),
  };
}

function seedsOf(count: string): readonly number[] {
  const from = whole('from', values.from ?? '1', 0);
  const first = values.first === undefined ? [] : readNumbers('first', values.first, 0);
  return [...first, ...Array.from({ length: whole('seeds', count, 1) }, (_, place) => from + place)];
}

function whole(option: string, text: string, min: number): number {
  return readNumber(option, text, { min, isWhole: true });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
