/**
 * The command `npm run bench`: runs the named workloads against this build and the installed peers, in one run on one
 * machine, and prints RESULTS.md. Contenders alternate, so that disturbances affect them alike.
 *
 * `npm run bench -- --help` prints the options and names. `npm run bench:peers` installs the peers: two releases of
 * etcd, UmaDB, PostgreSQL, and the client h2load. Those that are not installed are omitted, and the first lines list
 * them.
 */
import { cpus, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { peersLine } from './peers/installed.ts';
import { commitLine } from './support/commit.ts';
import { describe, figureLines, rateLines, remarks, TABLE_HEAD } from './support/results.ts';
import { compete, measureAlone, type Plan, type Workload } from './support/sample.ts';
import { catalogue } from './workloads/catalogue.ts';
import { type Measurement, SUITES } from './workloads/named.ts';

const values = readOptions(
  {
    only: undefined,
    suite: undefined,
    rounds: '5',
    seconds: '3',
    'warm-up': '5',
    limit: '120',
    events: '1000000',
    help: undefined,
  },
  ['help'],
);
if (values.help !== undefined) {
  process.stdout.write(usage());
  process.exit();
}
const plan: Plan = {
  rounds: readNumber('rounds', values.rounds, { min: 1, isWhole: true }),
  seconds: readNumber('seconds', values.seconds, { min: 0.1, isWhole: false }),
  warmUpSeconds: readNumber('warm-up', values['warm-up'], { min: 0, isWhole: false }),
  limitSeconds: readNumber('limit', values.limit, { min: 1, isWhole: true }),
};
const events = readNumber('events', values.events, { min: 1000, isWhole: true });
const chosen = chosenNames();
const print = (text: string): void => void process.stdout.write(`${text}\n`);

await using arena = new Arena();
print(heading());
/** Descriptions of the rows and remarks of the contenders, printed after the table. */
const explanations: string[] = [];
for (const { name, prepare } of catalogue()) {
  if (!chosen.has(name)) continue;
  for (const entry of prepare({ arena, events })) await ('figures' in entry ? measureFigures(entry) : race(entry));
}
print(`\n## The rows\n\n${explanations.join('\n')}`);

async function race(workload: Workload): Promise<void> {
  const series = await compete(workload, plan);
  print(rateLines(workload, series));
  explanations.push([`- **${workload.name}**: ${describe(workload)}`, ...remarks(series)].join('\n  - '));
  if (series.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
}

async function measureFigures({ name, directory, what, figures }: Measurement): Promise<void> {
  const { result, failure } = await measureAlone(directory, plan, () => figures(plan));
  print(figureLines(name, result ?? [{ contender: 'cairn', text: failure ?? '' }]));
  explanations.push(`- **${name}**: ${what}`);
  if (failure !== undefined) process.exitCode = 1;
}

function chosenNames(): ReadonlySet<string> {
  if (values.only !== undefined && values.suite !== undefined) refuse('--only and --suite do not go together');
  const all = catalogue().map(({ name }) => name);
  if (values.only !== undefined) {
    const names = values.only.split(',');
    const unknown = names.find((name) => !all.includes(name));
    if (unknown !== undefined) refuse(`--only ${JSON.stringify(unknown)} is no workload; there are ${all.join(', ')}`);
    return new Set(names);
  }
  const asked = (values.suite ?? 'default').split(',');
  if (asked.includes('all')) return new Set(all);
  const unknown = asked.find((name) => !SUITES.some((suite) => suite === name));
  if (unknown !== undefined) refuse(`--suite ${JSON.stringify(unknown)} is none of ${SUITES.join(', ')}, all`);
  const members = catalogue().filter(({ suites }) => suites.some((suite) => asked.includes(suite)));
  return new Set(members.map(({ name }) => name));
}

function usage(): string {
  const lines = SUITES.map((suite) => {
    const names = catalogue().flatMap(({ name, suites }) => (suites[0] === suite ? [name] : []));
    return `  ${suite === 'standard' ? 'standard, beside those of default' : suite}:\n    ${names.join('\n    ')}`;
  });
  return `npm run bench -- [--suite default|standard|long|esbs|umadb|all | --only name,name] [--rounds 5] [--seconds 3]
  [--warm-up 5] [--limit 120] [--events 1000000]

  --suite    which workloads run, with commas between several suites; default unless given
  --only     these workloads, by name
  --rounds   how often each contender has its turn
  --seconds  how long a turn lasts
  --warm-up  seconds of unmeasured load for each contender before its first turn
  --limit    seconds that a turn may take beyond that; then the contender is out, and its servers are killed
  --events   how many events a loaded database holds

The table of bench/RESULTS.md:
  npm run --silent bench -- --suite standard,long > bench/RESULTS.md

Workloads by suite:
${lines.join('\n')}
`;
}

function heading(): string {
  const processors = cpus();
  return `# Results

${new Date().toISOString().slice(0, 10)}, commit ${commitLine(resolve(import.meta.dirname, '..'))}:

    npm run bench -- ${process.argv.slice(2).join(' ')}

${processors.length} × ${processors[0]?.model ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}, Node ${process.version};
${peersLine()}.

The client runs on the same machine, so absolute figures are lower bounds, and only ratios within a row group mean
something. Contenders ran in turn, ${plan.rounds} rounds of ${plan.seconds} s each after ${plan.warmUpSeconds} s of warm-up: median (min to max). PostgreSQL
is driven by pgbench. All contenders sync before they answer, in a cluster on two of three nodes. "first ÷ this" is the
rate of the first contender divided by that of the row, round by round. Microseconds are processor time for one
operation. "load" is the load average after the row.

${TABLE_HEAD}`;
}
