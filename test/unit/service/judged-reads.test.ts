// Goal: rows that are missing in a read mean that the replica moved; damage of a replica that is kept is fatal (V6,
// V10). Method: reads that fail, with each later state of the catalog.
import { describe, expect, it } from 'vitest';
import {
  BrokenInvariant,
  DatabaseError,
  type ReplicaId,
  replicaOf,
  type Sha256,
  toDatabaseId,
  toGroupId,
  toNodeId,
  toRevision,
} from '#base';
import type { Binding, Node } from '#cluster';
import { isFatal } from '#service';
import { Reads } from '../../../src/service/reads.ts';

const SELF = toNodeId(1);
const DAMAGE = new DatabaseError('internal', 'The row is corrupt', { details: { reason: 'CorruptRecord' } });
const MISSING = new DatabaseError('internal', 'The row is missing', { details: { reason: 'UnexpectedRow' } });
const BROKEN = new BrokenInvariant('A database is read at a revision it has applied');
const NOT_HERE = new DatabaseError('not_leader', 'nodes 2, 3 do', { details: { reason: 'NotReplica' } });
const GONE = new DatabaseError('not_found', 'There is no such group');
const sha256: Sha256 = () => new Uint8Array(32);

function bound(...replicas: readonly ReplicaId[]): Binding {
  const databaseId = toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000');
  const held = { replicas, leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
  return { name: 'shop', databaseId, group: toGroupId(7), createdAtMs: 0, ...held };
}

const COPY = replicaOf(SELF);
const NEXT_COPY = replicaOf(SELF, 2);
const ELSEWHERE = replicaOf(toNodeId(2));

interface Now {
  readonly binding: Binding | undefined;
  readonly latest: DatabaseError | undefined;
}

async function judged({ binding, latest }: Now, met: Error): Promise<unknown> {
  const holds = binding?.replicas.some((replica) => replica !== ELSEWHERE) === true;
  const node: Partial<Node> = {
    identity: { node: SELF } as Node['identity'],
    catalog: { lookup: () => binding } as unknown as Node['catalog'],
    confirmedLatest: () => (latest === undefined ? Promise.resolve(toRevision(3)) : Promise.reject(latest)),
    absence: () => (holds ? undefined : NOT_HERE),
  };
  const reads = new Reads(node as Node, sha256);
  return reads.read(bound(COPY, ELSEWHERE), () => Promise.reject(met)).catch((failure: unknown) => failure);
}

describe.each([DAMAGE, MISSING, BROKEN])('a read that fails with %s', (met) => {
  it.each<readonly [string, Now, string | undefined]>([
    ['of a replica that is kept', { binding: bound(COPY, ELSEWHERE), latest: undefined }, undefined],
    ['while there is no leader', { binding: bound(COPY, ELSEWHERE), latest: NOT_HERE }, undefined],
    ['of a database that is deleted', { binding: undefined, latest: GONE }, 'DatabaseNotFound'],
    ['of a replica that was removed', { binding: bound(ELSEWHERE), latest: NOT_HERE }, 'NotReplica'],
    ['of a replica that another one has replaced', { binding: bound(NEXT_COPY), latest: undefined }, 'CopyMoved'],
  ])('%s', async (_what, now, reason) => {
    const failure = await judged(now, met);
    const found = failure instanceof DatabaseError && failure !== met ? failure.details.reason : failure;
    expect(found).toBe(reason ?? met);
    expect(isFatal(failure)).toBe(reason === undefined && met === DAMAGE);
  });
});
