// Defects of the connections between two nodes: lanes of src/transport/peer, and the handling of overload. They run
// with the real lanes over simulated sockets.
import type { Mutant } from './mutant.ts';

export const LANE_MUTANTS: readonly Mutant[] = [
  {
    name: 'never-reads-again',
    file: 'src/transport/peer/lane-door.ts',
    find: '      if (this.#rest === undefined) this.#wire.resume();\n',
    replace: '',
    breaks: 'a node that had too much to do reads no more appends when it has done it',
    run: { nodes: 3, lanes: true, first: [8] },
  },
  {
    name: 'head-that-is-believed',
    file: 'src/transport/peer/lane-words.ts',
    find: '  return reader.u32le() === ~length >>> 0 ? length : undefined;',
    replace: '  return reader.u32le() >= 0 ? length : undefined;',
    breaks: 'a turned bit in the length of a record makes all that follows a part of it',
    run: { nodes: 3, aimed: true, lanes: true },
  },
  {
    name: 'greeting-that-is-believed',
    file: 'src/transport/peer/lane-words.ts',
    find: "  if (!isWhole(bytes)) return failure('the greeting is damaged');\n",
    replace: '',
    breaks: 'a turned bit in a greeting makes a connection of which nothing is taken',
    run: { nodes: 3, aimed: true, lanes: true, first: [6] },
  },
  {
    name: 'connection-without-an-end',
    file: 'src/transport/peer/lane-link.ts',
    find: '    wire.destroy(new Error(`it has not answered for ${this.#options.limits.pingTimeoutMs} ms`));\n',
    replace: '    void wire;\n',
    breaks: 'a connection through which nothing gets is kept',
    run: { nodes: 3, aimed: true, lanes: true },
  },
  {
    name: 'read-before-its-turn',
    file: 'src/transport/peer/lane-door.ts',
    find: '    if (this.#rest !== undefined) this.#rest = concatBytes([this.#rest, chunk]);\n    else if',
    replace: '    if',
    and: [
      {
        file: 'src/transport/peer/lane-door.ts',
        find: '    this.#wire.pause();\n',
        replace: '',
      },
    ],
    breaks: 'what arrives while a frame is being taken is read before what came with that',
    run: { nodes: 3, lanes: true, first: [2] },
  },
  {
    name: 'frame-of-another-incarnation',
    file: 'src/transport/peer/lane-door.ts',
    find: '    if (to.node !== self.node || to.store !== self.store) {\n',
    replace: "    if ((to.node !== self.node || to.store !== self.store) && self.store === '') {\n",
    and: [
      {
        file: 'src/transport/peer/lane-link.ts',
        find: '    if (from.node !== to.node || from.store !== to.store) return',
        replace: "    if (from.node !== to.node && to.store === '') return",
      },
    ],
    breaks: 'what is for a node that was there before is taken by the one that listens there now',
    run: { nodes: 3, lanes: true, first: [43] },
  },
];
