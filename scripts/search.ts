/**
 * npm run search: visits every state that a small group can get into (test/support/raft/search.ts), and prints the
 * shortest way to a broken invariant if there is one.
 *
 *   npm run search -- [--voters 3] [--learners 0] [--terms 3] [--proposals 1] [--crashes 1] [--doubles 0]
 *                     [--change 1,2 [--change-learners 3]] [--states 1000000]
 */
import { toReplicaId } from '#raft';
import { search } from '../test/support/raft/search.ts';
import { readNumber, readNumbers, readOptions, refuseAlone } from './support/command-line.ts';

const DEFAULTS = {
  voters: '3',
  learners: '0',
  terms: '3',
  proposals: '1',
  crashes: '1',
  doubles: '0',
  states: '1000000',
};

const values = readOptions({ ...DEFAULTS, change: undefined, 'change-learners': undefined });
refuseAlone(values, ['change-learners'], 'change');
const scope = {
  voters: count('voters', 1),
  learners: count('learners', 0),
  terms: count('terms', 1),
  proposals: count('proposals', 0),
  crashes: count('crashes', 0),
  doubles: count('doubles', 0),
  change: values.change === undefined ? undefined : { voters: ids('change'), learners: ids('change-learners') },
  statesMax: count('states', 1),
};
const startedMs = performance.now();
const found = search(scope);
const seconds = (performance.now() - startedMs) / 1000;
const rate = Math.round(found.states / seconds);
const extent = found.isComplete ? 'all of them' : `up to ${found.depth} moves`;
console.log(`${found.states} states (${extent}) in ${seconds.toFixed(1)} s, ${rate} a second`);
if (found.broken !== undefined) {
  console.log(`broken: ${found.broken.message}`);
  for (const [at, label] of found.broken.path.entries()) console.log(`${String(at + 1).padStart(4)}  ${label}`);
  process.exitCode = 1;
}

function count(option: keyof typeof DEFAULTS, min: number): number {
  return readNumber(option, values[option], { min, isWhole: true });
}

function ids(option: 'change' | 'change-learners'): readonly ReturnType<typeof toReplicaId>[] {
  const text = values[option];
  return text === undefined ? [] : readNumbers(option, text, 1).map(toReplicaId);
}
