// Goal: a node shows the revisions of the databases that it serves, and claims none for others. Method: a node with
// given databases, scraped once.
import { expect, it } from 'vitest';
import type { Node } from '#cluster';
import { createMetrics } from '#observability';
import { showNode } from '../../../../src/main/node/gauges.ts';

const REVISIONS = { empty: 0, shop: 7, lagging: 5, rebuilding: 0, elsewhere: 0 };
const ABSENT = ['lagging', 'rebuilding', 'elsewhere'];

it('a node shows no revision of a database whose rows it has not, and that of a replica that lags', async () => {
  const names = Object.keys(REVISIONS);
  const node = {
    catalog: { list: () => names.map((name, group) => ({ name, group })), level: 1 },
    health: () => ({ pendingProposals: 0 }),
    readable: (group: number) => Object.values(REVISIONS)[group],
    absence: (group: number) => (ABSENT.includes(names[group] ?? '') ? new Error('other nodes have it') : undefined),
  } as unknown as Node;
  const metrics = createMetrics({ runtime: false });
  showNode(node, metrics);
  const { body } = await metrics.render();
  const shown = [...body.matchAll(/^cairn_database_revision\{database="(\w+)"\} (\d+)$/gm)].map(
    ([, ...found]) => found,
  );
  expect(shown).toEqual([
    ['empty', '0'],
    ['shop', '7'],
    ['lagging', '5'],
  ]);
});
