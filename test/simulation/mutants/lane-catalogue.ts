/**
 * Ways to break what lies between two nodes: lanes of src/transport/peer, and what a node does that has too much to do.
 * They are looked for with the real lanes, over simulated sockets.
 */
import type { Mutant } from './mutant.ts';

export const LANE_MUTANTS: readonly Mutant[] = [
  {
    name: 'never-reads-again',
    file: 'src/transport/peer/lane-server.ts',
    find: '      if (this.#rest === undefined) this.#wire.resume();\n',
    replace: '',
    breaks: 'a node that had too much to do reads no more appends when it has done it',
    nodes: 3,
    lanes: true,
    first: [2],
  },
];
