/**
 * npm run search: visits every state that a small group can get into (test/support/raft/search.ts), and prints one of
 * the shortest ways to a broken invariant if there is one. With --replay it follows such a way again, from a file.
 *
 *   npm run search -- [--voters 3] [--learners 0] [--terms 3] [--proposals 3] [--crashes 1]
 *                     [--change 1,2 [--change-learners 3]] [--disks any|prompt] [--late 1] [--states 1000000]
 *                     [--replay way.txt]
 */
import { readFileSync } from 'node:fs';
import { toReplicaId } from '#raft';
import { type Found, replay, type Scope, search } from '../test/support/raft/search.ts';
import { readNumber, readNumbers, readOptions, refuse, refuseAlone } from './support/command-line.ts';

const DEFAULTS = {
  voters: '3',
  learners: '0',
  terms: '3',
  proposals: '3',
  crashes: '1',
  disks: 'any',
  late: '1',
  states: '1000000',
};

const values = readOptions({
  ...DEFAULTS,
  change: undefined,
  'change-learners': undefined,
  replay: undefined,
});
refuseAlone(values, ['change-learners'], 'change');
const scope: Scope = {
  voters: count('voters', 1),
  learners: count('learners', 0),
  terms: count('terms', 1),
  proposals: count('proposals', 0),
  crashes: count('crashes', 0),
  change: values.change === undefined ? undefined : { voters: ids('change'), learners: ids('change-learners') },
  disks: disks(),
  late: count('late', 0),
  statesMax: count('states', 1),
};
if (values.replay === undefined) searchAll();
else follow(values.replay);

function searchAll(): void {
  const startedMs = performance.now();
  const say = (found: Found): void => {
    const seconds = (performance.now() - startedMs) / 1000;
    const extent = found.open === 0 ? 'all of them' : `all within ${found.depth} moves, ${found.open} not expanded`;
    const rate = Math.round(found.states / seconds);
    console.log(
      `${found.states} states (${extent}) by ${found.moves} steps in ${seconds.toFixed(1)} s, ${rate} a second`,
    );
  };
  const found = search(scope, { report: say });
  say(found);
  if (found.broken === undefined) return;
  console.log(`# broken: ${found.broken.message}`);
  for (const line of found.broken.path) console.log(line);
  process.exitCode = 1;
}

/** Follows the way in a file; its empty lines and comments are ignored. */
function follow(file: string): void {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim());
  const broken = replay(
    scope,
    lines.filter((line) => line !== '' && !line.startsWith('#')),
  );
  console.log(broken === undefined ? 'nothing is broken' : `broken: ${broken}`);
  if (broken !== undefined) process.exitCode = 1;
}

function disks(): Scope['disks'] {
  const { disks: named } = values;
  return named === 'any' || named === 'prompt' ? named : refuse(`--disks is any or prompt, not "${named}"`);
}

function count(option: keyof typeof DEFAULTS, min: number): number {
  return readNumber(option, values[option], { min, isWhole: true });
}

function ids(option: 'change' | 'change-learners'): readonly ReturnType<typeof toReplicaId>[] {
  const text = values[option];
  const numbers = text === undefined ? [] : readNumbers(option, text, 1);
  const members = count('voters', 1) + count('learners', 0);
  const stranger = numbers.find((number) => number > members);
  if (stranger !== undefined)
    refuse(`--${option} ${stranger} is no member: --voters and --learners make 1 to ${members}`);
  return numbers.map(toReplicaId);
}
