// Goal: the plan for an EventDatabase follows its policies. Method: a table of worlds, and random converged worlds.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventDatabase } from '../../../operator/src/api/index.ts';
import { type Found, plan, statusOf, type World } from '../../../operator/src/databases/index.ts';
import { reasonsOf } from '../../support/operator/database-world.ts';
import { runs } from '../../support/runs.ts';

const NOW = Date.UTC(2026, 10, 29, 12);
const CLUSTER: World['cluster'] = { kind: 'ready', cluster: {} as never };
const NONE: Found = { kind: 'none' };
const UNKNOWN: Found = { kind: 'unknown' };

interface Sketch {
  readonly spec?: Partial<EventDatabase['spec']>;
  readonly id?: string;
  /** Reason of the condition Created. */
  readonly created?: string;
  readonly isHeld?: boolean;
  readonly deletedMsAgo?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly found?: Found;
  readonly cluster?: World['cluster'];
  readonly claimedBy?: string;
}

function found(id: string, placed?: { copies: number; predecessor?: string }): Found {
  return { kind: 'database', database: { name: 'shop', id, createdAt: '2026-11-29T11:00:00Z' }, placed };
}

function world(sketch: Sketch): World {
  const { spec, id, created, isHeld, deletedMsAgo, annotations, claimedBy } = sketch;
  const { cluster = CLUSTER, found: at = NONE } = sketch;
  const condition = created && {
    type: 'Created',
    status: id === undefined ? ('False' as const) : ('True' as const),
    reason: created,
    message: '',
    observedGeneration: 1,
    lastTransitionTime: '2026-11-29T11:00:00Z',
  };
  return {
    resource: {
      metadata: {
        name: 'shop',
        namespace: 'default',
        uid: 'u',
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: '2026-11-29T11:00:00Z',
        ...(isHeld && { finalizers: ['cairn.dev/database'] }),
        ...(annotations && { annotations }),
        ...(deletedMsAgo !== undefined && { deletionTimestamp: new Date(NOW - deletedMsAgo).toISOString() }),
      },
      spec: { clusterRef: { name: 'events' }, adoptionPolicy: 'Create', reclaimPolicy: 'Retain', ...spec },
      status: { ...(id !== undefined && { databaseID: id }), conditions: condition ? [condition] : [] },
    } as unknown as EventDatabase,
    cluster,
    found: at,
    claimedBy,
    wallMs: NOW,
  };
}

const DELETED = { spec: { reclaimPolicy: 'Delete' }, isHeld: true, deletedMsAgo: 1_000 } as const;

const CASES: readonly (readonly [name: string, sketch: Sketch, plan: readonly string[], reason?: string])[] = [
  ['creates a database that does not exist', {}, ['create'], 'Creating'],
  ['holds the object before it creates, when it is to delete', { spec: { reclaimPolicy: 'Delete' } }, ['hold']],
  ['leaves an existing database by the policy Create', { found: found('a') }, [], 'DatabaseExists'],
  ['records what a creation of unknown outcome has made', { created: 'Creating', found: found('a') }, ['record']],
  ['adopts by the policy Adopt', { spec: { adoptionPolicy: 'Adopt' }, found: found('a') }, ['record']],
  ['creates nothing by the policy Adopt', { spec: { adoptionPolicy: 'Adopt' } }, [], 'DatabaseNotFound'],
  ['adopts by the policy Either', { spec: { adoptionPolicy: 'Either' }, found: found('a') }, ['record']],
  ['creates by the policy Either', { spec: { adoptionPolicy: 'Either' } }, ['create']],
  ['does nothing without an answer', { found: UNKNOWN }, [], 'ClusterUnreachable'],
  ['waits for the cluster', { found: UNKNOWN, cluster: { kind: 'waiting', message: '' } }, [], 'ClusterNotReady'],
  ['reports a cluster that is gone', { found: UNKNOWN, cluster: { kind: 'gone' } }, [], 'ClusterNotFound'],
  ['leaves a database to an older object', { claimedBy: 'first' }, [], 'ClaimedByAnother'],
  ['does nothing for a database that exists', { id: 'a', found: found('a') }, [], 'Available'],
  ['reports a database that is gone', { id: 'a' }, [], 'DatabaseGone'],
  ['creates it again by the policy Either', { id: 'a', spec: { adoptionPolicy: 'Either' } }, ['create']],
  [
    'never adopts another one instead',
    { id: 'a', found: found('b'), spec: { adoptionPolicy: 'Either' } },
    [],
    'DatabaseReplaced',
  ],
  [
    'records the id of a database that was recovered',
    { id: 'a', found: found('b', { copies: 0, predecessor: 'a' }) },
    ['record'],
  ],
  ['changes the copies', { id: 'a', spec: { copies: 5 }, found: found('a', { copies: 0 }) }, ['copies'], 'Available'],
  ['returns to the default when copies is removed', { id: 'a', found: found('a', { copies: 5 }) }, ['copies']],
  ['leaves the copies that are as in the spec', { id: 'a', spec: { copies: 5 }, found: found('a', { copies: 5 }) }, []],
  ['leaves copies that no node knows', { id: 'a', spec: { copies: 5 }, found: found('a') }, []],
  ['leaves the copies of another database', { id: 'a', spec: { copies: 5 }, found: found('b', { copies: 0 }) }, []],
  [
    'takes a database over before it changes its copies',
    { spec: { adoptionPolicy: 'Adopt', copies: 5 }, found: found('a', { copies: 0 }) },
    ['record'],
  ],
  [
    'leaves the copies of a database that an older object describes',
    { id: 'a', spec: { copies: 5 }, found: found('a', { copies: 0 }), claimedBy: 'first' },
    [],
  ],
  ['releases the object when it no longer deletes', { id: 'a', found: found('a'), isHeld: true }, ['release']],
  ['deletes by id', { ...DELETED, id: 'a', found: found('a') }, ['delete']],
  ['releases the object when the database is gone', { ...DELETED, id: 'a' }, ['release']],
  ['leaves another database of the name', { ...DELETED, id: 'a', found: found('b') }, ['release']],
  ['leaves a database that it did not create', { ...DELETED, found: found('a') }, ['release']],
  ['records what it is about to delete', { ...DELETED, created: 'Creating', found: found('a') }, ['record']],
  [
    'records what was recovered before it is deleted',
    { ...DELETED, id: 'a', found: found('b', { copies: 0, predecessor: 'a' }) },
    ['record'],
  ],
  ['retains by the policy Retain', { ...DELETED, spec: {}, id: 'a', found: found('a') }, ['release']],
  [
    'gives up when the cluster is gone',
    { ...DELETED, id: 'a', found: UNKNOWN, cluster: { kind: 'gone' } },
    ['release'],
  ],
  ['waits with a deletion', { ...DELETED, id: 'a', found: UNKNOWN }, [], 'Deleting'],
  ['gives up after an hour', { ...DELETED, id: 'a', found: UNKNOWN, deletedMsAgo: 3_600_001 }, ['release']],
  [
    'gives up by annotation',
    { ...DELETED, id: 'a', found: UNKNOWN, annotations: { 'cairn.dev/abandon': 'true' } },
    ['release'],
  ],
  ['does nothing for a deleted object that it does not hold', { deletedMsAgo: 1_000 }, []],
];

describe('the plan for an EventDatabase', () => {
  it.each(CASES.map(([name, ...rest]) => [name, rest] as const))(
    '%s (KD1, KD2, KD3, KD4, KD6)',
    (_name, [sketch, kinds, reason]) => {
      const at = world(sketch);
      expect(plan(at).map(({ kind }) => kind)).toEqual(kinds);
      expect([undefined, reasonsOf({ status: statusOf(at) })['Ready']]).toContain(reason);
    },
  );

  it('is empty for a converged object (KD5)', () => {
    const policies = fc.record({
      adoptionPolicy: fc.constantFrom('Create', 'Adopt', 'Either'),
      reclaimPolicy: fc.constantFrom('Retain', 'Delete'),
      copies: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
    });
    const property = fc.property(
      policies,
      fc.constantFrom('Created', 'Adopted'),
      fc.string(),
      (policy, created, id) => {
        const { copies = 0, ...others } = policy;
        const spec = copies === 0 ? others : { ...others, copies };
        const isHeld = spec.reclaimPolicy === 'Delete';
        const at = world({ spec, created, id: `id-${id}`, found: found(`id-${id}`, { copies }), isHeld });
        expect(plan(at)).toEqual([]);
        const status = statusOf(at);
        const again = { ...at, resource: { ...at.resource, status }, wallMs: NOW + 1_000_000 };
        expect(statusOf(again)).toEqual(status);
      },
    );
    fc.assert(property, { numRuns: runs(300) });
  });
});
