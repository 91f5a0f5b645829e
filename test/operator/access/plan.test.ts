// Goal: the plan for an EventAccess has the actions that its spec, its Secret and its keys require. Method: a table of
// worlds, and random converged worlds.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newKeyText, parseKeyText, plan, statusOf, type World } from '../../../operator/src/access/index.ts';
import type { EventAccess } from '../../../operator/src/api/index.ts';
import type { ApiKey } from '../../../operator/src/client/index.ts';
import { dataOf } from '../../../operator/src/kube/index.ts';
import { reasonsOf } from '../../support/operator/database-world.ts';
import { runs } from '../../support/runs.ts';

const NOW = Date.UTC(2026, 10, 29, 12);
const [FIRST, SECOND] = [1, 2].map((byte) => newKeyText('u', Buffer.alloc(40, byte)));
const ROLES = ['writer:shop'];

type Rotation = Partial<EventAccess['spec']['rotation']>;

interface Sketch {
  readonly texts?: Readonly<Record<string, string | undefined>>;
  readonly keys?: readonly ApiKey[];
  readonly spec?: Omit<Partial<EventAccess['spec']>, 'rotation'>;
  readonly rotation?: Rotation;
  readonly rotatedFor?: string;
  readonly isHeld?: boolean;
  readonly isDeleted?: boolean;
  readonly world?: Partial<World>;
}

function key(text: string | undefined, change: Partial<ApiKey> = {}): ApiKey {
  const { id = '', sha256 = '' } = parseKeyText(text) ?? {};
  return { id, sha256, name: 'orders', roles: ROLES, createdMs: NOW - 1_000_000, ...change };
}

function worldOf(sketch: Sketch): World {
  const { texts, keys = [], spec, rotation, rotatedFor, isHeld = true, isDeleted = false, world } = sketch;
  const deleted = isDeleted && { deletionTimestamp: new Date(NOW).toISOString() };
  const data = Object.entries(texts ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    resource: {
      metadata: {
        name: 'orders',
        namespace: 'default',
        uid: 'u',
        resourceVersion: '1',
        generation: 1,
        ...(isHeld && { finalizers: ['cairn.dev/access'] }),
        ...deleted,
      },
      spec: {
        clusterRef: { name: 'events' },
        secret: { key: 'api-key' },
        rotation: { overlapSeconds: 3600, ...rotation },
        ...spec,
      },
    } as unknown as EventAccess,
    cluster: { kind: 'ready', cluster: {} as never },
    roles: { roles: ROLES },
    secret: {
      metadata: {
        name: 'orders',
        uid: 's',
        resourceVersion: '1',
        ownerReferences: [{ uid: 'u' }],
        labels: { 'app.kubernetes.io/managed-by': 'cairn-operator' },
        annotations: rotatedFor === undefined ? {} : { 'cairn.dev/rotate-key': rotatedFor },
      },
      data: dataOf(Object.fromEntries(data)),
    },
    keys,
    wallMs: NOW,
    ...world,
  };
}

const FOREIGN = { metadata: { name: 'orders', uid: 's', resourceVersion: '1' } };
const GOOD = { texts: { 'api-key': FIRST }, keys: [key(FIRST)] };
const PAST = { expiresAt: '2026-11-29T11:00:00Z' };
const ANNOTATED = { secret: { key: 'api-key', annotations: { 'cairn.dev/rotate-key': 'mine' } } };
const OLD = { createdMs: NOW - 4_000_000 };

const CASES: readonly (readonly [name: string, sketch: Sketch, plan: readonly string[], reason?: string])[] = [
  ['holds the object first', { isHeld: false }, ['hold']],
  ['makes a Secret before it has a key', { world: { secret: undefined } }, ['make-secret'], 'Issuing'],
  ['writes the text of a key before it is issued', {}, ['write-secret']],
  ['issues a key whose text is written', { texts: { '.next': FIRST } }, ['issue']],
  ['shows a key that was issued', { texts: { '.next': FIRST }, keys: [key(FIRST)] }, ['write-secret']],
  ['does nothing for a valid key', GOOD, [], 'Issued'],
  ['leaves a Secret of another owner', { world: { secret: FOREIGN } }, [], 'SecretNotOwned'],
  ['replaces a key that was revoked', { ...GOOD, keys: [] }, ['write-secret'], 'Issuing'],
  ['replaces a key with other roles', { ...GOOD, keys: [key(FIRST, { roles: ['admin'] })] }, ['write-secret']],
  ['replaces a key with another secret', { ...GOOD, keys: [key(FIRST, { sha256: '0' })] }, ['write-secret']],
  ['replaces a key with another name', { ...GOOD, keys: [key(FIRST, { name: 'x' })] }, ['write-secret']],
  ['replaces a key that expires too early', { ...GOOD, keys: [key(FIRST, { expiresMs: NOW + 1 })] }, ['write-secret']],
  [
    'keeps a key when the spec gives its Secret the annotation of the operator',
    { ...GOOD, spec: ANNOTATED },
    [],
    'Issued',
  ],
  ['replaces a key on demand', { ...GOOD, rotation: { rotateKey: 'b' }, rotatedFor: 'a' }, ['write-secret'], 'Issued'],
  [
    'replaces a key after days',
    { ...GOOD, keys: [key(FIRST, { createdMs: NOW - 86_400_000 })], rotation: { everyDays: 1 } },
    ['write-secret'],
  ],
  ['ends an old key after the overlap', { ...GOOD, keys: [key(FIRST), key(SECOND)] }, ['expire']],
  ['revokes an old key that has ended', { ...GOOD, keys: [key(FIRST, OLD), key(SECOND)] }, ['revoke']],
  [
    'keeps an old key within the overlap',
    { ...GOOD, keys: [key(FIRST), key(SECOND, { expiresMs: NOW + 60_000 })] },
    [],
  ],
  [
    'removes a text that is no longer needed',
    { ...GOOD, texts: { 'api-key': FIRST, '.next': SECOND } },
    ['write-secret'],
  ],
  [
    'makes another key when the next one is not what is wanted',
    { texts: { '.next': FIRST }, keys: [key(FIRST, { name: 'x' })] },
    ['write-secret'],
  ],
  ['revokes keys of an object that has expired', { ...GOOD, spec: PAST }, ['revoke'], 'Expired'],
  ['waits for databases', { world: { roles: { problem: ['DatabaseNotFound', ''] } } }, [], 'DatabaseNotFound'],
  ['waits for the cluster', { world: { cluster: { kind: 'waiting', message: '' } } }, [], 'ClusterNotReady'],
  ['does nothing without an answer', { world: { keys: { unknown: new Error('') } } }, [], 'ClusterUnreachable'],
  ['revokes all keys of a deleted object', { ...GOOD, isDeleted: true }, ['revoke'], 'Deleting'],
  ['releases a deleted object without keys', { isDeleted: true }, ['release']],
  [
    'releases a deleted object without a cluster',
    { ...GOOD, isDeleted: true, world: { cluster: { kind: 'gone' } } },
    ['release'],
  ],
];

describe('the plan for an EventAccess', () => {
  it.each(CASES.map(([name, ...rest]) => [name, rest] as const))(
    '%s (KE1, KE2, KE3, KE4)',
    (_name, [sketch, kinds, reason]) => {
      const world = worldOf(sketch);
      expect(plan(world).map(({ kind }) => kind)).toEqual(kinds);
      expect([undefined, reasonsOf({ status: statusOf(world) })['Ready']]).toContain(reason);
    },
  );

  it('is empty for a converged object (KE5)', () => {
    const rotations = fc.record({ everyDays: fc.option(fc.integer({ min: 1 })), rotateKey: fc.option(fc.string()) });
    const property = fc.property(fc.uint8Array({ minLength: 40, maxLength: 40 }), rotations, (bytes, drawn) => {
      const { everyDays, rotateKey } = drawn;
      const rotation = { ...(everyDays !== null && { everyDays }), ...(rotateKey !== null && { rotateKey }) };
      const text = newKeyText('u', Buffer.from(bytes));
      const rotated = rotateKey === null ? {} : { rotatedFor: rotateKey };
      const world = worldOf({ texts: { 'api-key': text }, keys: [key(text)], rotation, ...rotated });
      expect(plan(world)).toEqual([]);
      const status = statusOf(world);
      const again = { ...world, resource: { ...world.resource, status }, wallMs: NOW + 1_000 };
      expect(statusOf(again)).toEqual(status);
    });
    fc.assert(property, { numRuns: runs(300) });
  });
});
