// Goal: the worked example of docs/formats/node.md is the bytes that the code writes. Method: the hexadecimal digits of
// the example block are read from the page and compared.
import { expect, it } from 'vitest';
import { toGroupId, toHex, toNodeId } from '#base';
import {
  BEFORE_KEY,
  IDENTITY_KEY,
  JOINING_KEY,
  REMOVED_KEY,
  trashKey,
  writeBefore,
  writeIdentity,
  writeJoining,
  writeTrash,
} from '../../../src/cluster/store/node-rows.ts';
import { exampleOf } from '../../support/format-pages.ts';

it('docs/formats/node.md shows the rows of the node', () => {
  const identity = {
    clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
    storeId: '0199a5c8-3c1e-7a2b-9f00-ba9876543210',
    node: toNodeId(3),
    isLearner: false,
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
    REMOVED_KEY,
    writeIdentity(identity),
  ];
  expect(exampleOf('node.md')).toBe(rows.map(toHex).join(''));
});
