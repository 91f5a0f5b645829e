// Goal: the worked example of docs/formats/node.md is the bytes that the code writes. Method: the hexadecimal digits of
// the example block are read from the page and compared.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toGroupId, toHex, toNodeId } from '#base';
import {
  BEFORE_KEY,
  IDENTITY_KEY,
  JOINING_KEY,
  trashKey,
  writeBefore,
  writeIdentity,
  writeJoining,
  writeTrash,
} from '../../../src/cluster/node-rows.ts';

const PAGE = join(import.meta.dirname, '../../../docs/formats/node.md');

it('docs/formats/node.md shows the rows of the node', () => {
  const block = readFileSync(PAGE, 'utf8').split('## Example')[1]?.split('```')[1] ?? '';
  const shown = block.split('\n').map((line) => /^[0-9a-f]*/.exec(line)?.[0] ?? '');
  const identity = {
    clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
    storeId: '0199a5c8-3c1e-7a2b-9f00-ba9876543210',
    node: toNodeId(3),
  };
  const rows = [
    IDENTITY_KEY,
    writeIdentity(identity),
    trashKey(toGroupId(77)),
    writeTrash(),
    JOINING_KEY,
    writeJoining(identity.storeId),
    BEFORE_KEY,
    writeBefore({ ...identity, atMs: 1_770_000_000_000 }),
  ];
  expect(shown.join('')).toBe(rows.map(toHex).join(''));
});
