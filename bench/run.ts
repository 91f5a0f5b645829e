/**
 * The command `npm run bench`: runs the named workloads against this build and, if installed, etcd and PostgreSQL, in
 * one run on one machine. Contenders alternate, so that disturbances affect them alike.
 *
 * `npm run bench -- --help` prints the options and names. The Debian packages of the peers are etcd-server, postgresql
 * (server and pgbench) and nghttp2-client (h2load). Contenders that are not installed are omitted, and the first lines
 * list them. The output is Markdown; RESULTS.md has the results with the machines.
 */
import { cpus, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { etcdVersion } from './peers/etcd.ts';
import { postgresBin, postgresVersion } from './peers/postgres.ts';
import { commitLine } from './support/commit.ts';
import { hasH2load } from './support/h2load.ts';
import { compete, type Plan, table } from './support/sample.ts';
import { catalogue, loadedOnce } from './workloads/catalogue.ts';
import { footprint } from './workloads/footprint.ts';
import { type Preparation, SUITES } from './workloads/named.ts';

const FOOTPRINT = 'footprint';

const values = readOptions(
  {
    only: undefined,
    suite: undefined,
    rounds: '5',
    seconds: '3',
    'warm-up': '5',
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
};
const events = readNumber('events', values.events, { min: 1, isWhole: true });
const chosen = chosenNames();
const print = (text: string): void => void process.stdout.write(`${text}\n`);

await using arena = new Arena();
const preparation: Preparation = { arena, events };
print(machine());
for (const named of catalogue()) {
  if (!chosen.has(named.name)) continue;
  for (const workload of await named.prepare(preparation)) print(table(workload, await compete(workload, plan)));
}
// The footprint is last, because it stops the node with the events.
if (chosen.has(FOOTPRINT)) print(await footprint(arena, await loadedOnce(preparation)));

function chosenNames(): ReadonlySet<string> {
  if (values.only !== undefined && values.suite !== undefined) refuse('--only and --suite do not go together');
  const all = [...catalogue().map(({ name }) => name), FOOTPRINT];
  if (values.only !== undefined) {
    const names = values.only.split(',');
    const unknown = names.find((name) => !all.includes(name));
    if (unknown !== undefined) refuse(`--only ${JSON.stringify(unknown)} is no workload; there are ${all.join(', ')}`);
    return new Set(names);
  }
  const asked = values.suite ?? 'default';
  if (asked === 'all') return new Set(all);
  const suite = SUITES.find((name) => name === asked);
  if (suite === undefined) refuse(`--suite ${JSON.stringify(asked)} is none of ${SUITES.join(', ')}, all`);
  const members = catalogue().filter((each) => each.suites.includes(suite));
  const withFootprint = suite === 'default' || suite === 'standard' ? [FOOTPRINT] : [];
  return new Set([...members.map(({ name }) => name), ...withFootprint]);
}

function usage(): string {
  const lines = SUITES.map((suite) => {
    const members = catalogue().filter(({ suites }) => suites[0] === suite);
    const names = [...members.map(({ name }) => name), ...(suite === 'default' ? [FOOTPRINT] : [])];
    return `  ${suite === 'standard' ? 'standard, beside those of default' : suite}:\n    ${names.join('\n    ')}`;
  });
  return `npm run bench -- [--suite default|standard|esbs|umadb|all | --only name,name] [--rounds 5] [--seconds 3]
  [--warm-up 5] [--events 1000000]

  --suite    which workloads run; default unless given
  --only     these workloads, by name
  --rounds   how often each contender has its turn
  --seconds  how long a turn lasts
  --warm-up  seconds of unmeasured load for each contender before its first turn
  --events   how many events a loaded database holds

Workloads by suite:
${lines.join('\n')}
`;
}

function machine(): string {
  const processors = cpus();
  const bin = postgresBin();
  return `# Benchmark

Commit ${commitLine(resolve(import.meta.dirname, '..'))}.
${processors.length} × ${processors[0]?.model ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}, Node ${process.version};
etcd ${etcdVersion() ?? 'not installed'}, PostgreSQL ${bin === undefined ? 'not installed' : postgresVersion(bin)}, h2load ${hasH2load() ? 'installed' : 'not installed'}.
Client on the same machine. ${plan.rounds} rounds of ${plan.seconds} s each after ${plan.warmUpSeconds} s of warm-up, contenders in turn; median
(min to max).
`;
}
