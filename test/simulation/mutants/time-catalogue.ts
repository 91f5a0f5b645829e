/** Defects of the two time axes. They run with clients that read by effective and recorded times. */
import type { Mutant } from './mutant.ts';

export const TIME_MUTANTS: readonly Mutant[] = [
  {
    name: 'end-of-times-left-out',
    file: 'src/query/time-scan.ts',
    find: '    (end === undefined || compareInstants(instant, end) <= 0)\n',
    replace: '    (end === undefined || compareInstants(instant, end) < 0)\n',
    breaks: 'what takes effect at the very end of a range is left out',
    run: { nodes: 3, times: true, first: [3] },
  },
  {
    name: 'ties-of-times-reversed',
    file: 'src/query/time-place.ts',
    find: '    left.revision - right.revision ||\n',
    replace: '    right.revision - left.revision ||\n',
    breaks: 'what takes effect at the same time comes in the order of nobody',
    run: { nodes: 3, times: true },
  },
  {
    name: 'recorded-at-the-time-left-out',
    file: 'src/query/lookups.ts',
    find: '({ recordedTimeMs }) => recordedTimeMs <= timeMs',
    replace: '({ recordedTimeMs }) => recordedTimeMs < timeMs',
    breaks: 'a database as it was at a time lacks what was recorded at that time',
    run: { nodes: 3, times: true, first: [34] },
  },
];
