// Goal: a damaged replica leads to a placement without it where most replicas are others that can take part (C46).
// Method: a table of bindings, and the placements that are proposed.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type NodeId, type ReplicaId, replicaOf, toNodeId } from '#base';
import type { Binding } from '#cluster';
import type { CatalogEntry } from '#database';
import { Moves, type MovesPorts } from '../../../../src/cluster/placement/moves.ts';
import { bindingOn } from '../../../support/cluster/layouts.ts';

const DAMAGED = replicaOf(toNodeId(1));

interface Case {
  readonly held: readonly number[];
  readonly leaving?: readonly number[];
  readonly lost?: readonly number[];
  /** Time for which the placement is not settled. */
  readonly waitedMs?: number;
}

/** The nodes of the proposed placement, after as long a wait. */
function proposed({ held, leaving = [], lost = [], waitedMs = 0 }: Case): readonly NodeId[] | undefined {
  let nowMs = 0;
  let found: readonly NodeId[] | undefined;
  const ports: Partial<MovesPorts> = {
    monotonicMs: () => nowMs,
    isLost: (node) => lost.includes(node),
    find: (id) => {
      expect(id).toBe(CATALOG_GROUP);
      return undefined;
    },
  };
  const encode = (entry: CatalogEntry): Uint8Array => {
    if (entry.kind === 'place') found = entry.nodes;
    return new Uint8Array();
  };
  const moves = new Moves({ ...ports, machines: { encode } } as MovesPorts);
  const replicas = (nodes: readonly number[]): readonly ReplicaId[] => nodes.map((node) => replicaOf(toNodeId(node)));
  const binding: Binding = { ...bindingOn(1, held), leaving: replicas(leaving), isSettled: leaving.length === 0 };
  for (const atMs of [0, waitedMs]) {
    nowMs = atMs;
    moves.placeWithout(binding, DAMAGED);
  }
  return found;
}

it.each<[string, Case, readonly number[] | undefined]>([
  ['of three replicas', { held: [1, 2, 3] }, [2, 3]],
  ['not of two', { held: [1, 2] }, undefined],
  ['not of one', { held: [1] }, undefined],
  ['not of a learner', { held: [2, 3, 4] }, undefined],
  ['not when one of two others is lost', { held: [1, 2, 3], lost: [3] }, undefined],
  ['without lost nodes of five', { held: [1, 2, 3, 4, 5], lost: [3] }, [2, 4, 5]],
  ['not again when it leaves already', { held: [1, 2, 3], leaving: [1], waitedMs: 60_000 }, undefined],
  ['not while another placement is being settled', { held: [1, 2, 3], leaving: [2, 3], waitedMs: 9_999 }, undefined],
  ['when another placement has waited for it', { held: [1, 2, 3], leaving: [2, 3], waitedMs: 10_000 }, [2, 3]],
])('a damaged replica is given up %s', (_name, given, nodes) => {
  expect(proposed(given)).toEqual(nodes);
});
