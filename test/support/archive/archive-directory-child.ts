// A process that waits for a sign, archives a history in a directory, a few records in each round, and ends
// (test/unit/objects/shared-directory.test.ts). Each of these processes has the same history.
import { once } from 'node:events';
import { Archiver } from '#archive';
import { DirectoryStore } from '#objects';
import { ArchivingNode, longHistory, newHash } from './archived-history.ts';

const [, , directory = '', writer = ''] = process.argv;
const history = longHistory();
const node = new ArchivingNode(history);
const clock = { nowMs: () => Date.now() };
const archiver = new Archiver({ store: new DirectoryStore(directory), newHash, source: node, clock, writer });
process.stdout.write('ready');
await once(process.stdin, 'data');
let rounds = 0;
for (let round = ''; node.applied < history.count || round !== 'current'; round = await archiver.round()) {
  node.applied = Math.min(history.count, node.applied + 1 + (rounds++ % 2));
}
process.stdin.destroy();
