/**
 * npm run search: visits every state that a small group can get into (test/support/raft/search.ts), and prints the
 * shortest way to a broken invariant if there is one.
 *
 *   npm run search -- [--voters 3] [--learners 0] [--terms 3] [--proposals 1] [--crashes 1] [--doubles 0]
 *                     [--change 1,2 [--change-learners 3]] [--states 1000000]
 */
import { parseArgs } from 'node:util';
import { toReplicaId } from '#raft';
import { search } from '../test/support/raft/search.ts';

const { values } = parseArgs({
  options: {
    voters: { type: 'string', default: '3' },
    learners: { type: 'string', default: '0' },
    terms: { type: 'string', default: '3' },
    proposals: { type: 'string', default: '1' },
    crashes: { type: 'string', default: '1' },
    doubles: { type: 'string', default: '0' },
    change: { type: 'string' },
    'change-learners': { type: 'string', default: '' },
    states: { type: 'string', default: '1000000' },
  },
});

const startedMs = performance.now();
const found = search({
  voters: Number(values.voters),
  learners: Number(values.learners),
  terms: Number(values.terms),
  proposals: Number(values.proposals),
  crashes: Number(values.crashes),
  doubles: Number(values.doubles),
  change:
    values.change === undefined ? undefined : { voters: ids(values.change), learners: ids(values['change-learners']) },
  statesMax: Number(values.states),
});
const seconds = (performance.now() - startedMs) / 1000;
const rate = Math.round(found.states / seconds);
const extent = found.isComplete ? 'all of them' : `up to ${found.depth} moves`;
console.log(`${found.states} states (${extent}) in ${seconds.toFixed(1)} s, ${rate} a second`);
if (found.broken !== undefined) {
  console.log(`broken: ${found.broken.message}`);
  for (const [at, label] of found.broken.path.entries()) console.log(`${String(at + 1).padStart(4)}  ${label}`);
  process.exitCode = 1;
}

function ids(text: string): readonly ReturnType<typeof toReplicaId>[] {
  return text
    .split(',')
    .filter(Boolean)
    .map((id) => toReplicaId(Number(id)));
}
