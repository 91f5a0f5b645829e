// Goal: admin messages are decoded as they were encoded by admin.proto, and other bytes are rejected. Method: one
// message of each kind; changed and random bytes.
import { join } from 'node:path';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replicaOf, toDatabaseId, toGroupId, toLogIndex, toNodeId, toRevision, toTerm } from '#base';
import type { AdminReply, AdminRequest, ClusterDescription } from '#cluster';
import { SetCopiesRequest } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import {
  ADMIN_METHODS,
  readAdminReply,
  readAdminRequest,
  writeAdminReply,
  writeAdminRequest,
} from '../../../src/transport/admin-messages.ts';
import { CLUSTER, placeOf } from '../../support/peer-nodes.ts';

const NODE: ClusterDescription['nodes'][number] = {
  node: toNodeId(3),
  name: 'cairn-2',
  zone: 'zürich',
  state: 'leaving',
  storeId: placeOf(3).store,
  peer: { host: '::1', port: 50_052 },
  grpc: '[::1]:50051',
  http: 'http://[::1]:3000',
  mcp: 'https://[::1]:3001',
  levels: { min: 1, max: 7 },
  isLearner: true,
  answers: true,
  isDraining: true,
  copies: 300,
  leads: 7,
  movableLeads: 6,
  lag: 2 ** 41,
  own: {
    release: '0.2.0',
    catalogIndex: toLogIndex(2 ** 40),
    unapplied: 12,
    diskUsedPercent: 87,
    components: ['ab'.repeat(32), 'cd'.repeat(32)],
    refused: [{ digest: 'ef'.repeat(32), fault: 'NotPublished: why' }],
  },
  catalogRole: 'learner',
  clockAheadMs: -4000,
};
const DATABASE_ID = toDatabaseId('0198c0de-0000-7000-8000-000000000001');
const DESCRIPTION: ClusterDescription = {
  clusterId: CLUSTER,
  node: toNodeId(1),
  catalogLeader: toNodeId(2),
  catalogIndex: toLogIndex(2 ** 40),
  isConfirmed: true,
  level: 6,
  nodes: [
    NODE,
    {
      ...NODE,
      node: toNodeId(4),
      state: 'removed',
      answers: false,
      catalogRole: 'none',
      zone: '',
      clockAheadMs: 2 ** 40,
    },
  ],
  diverged: [
    { node: toNodeId(2), group: toGroupId(7), title: 'database "shop"', reason: 'the term of log entry 9 is 2' },
  ],
  otherClusters: [{ node: toNodeId(3), reason: 'Node 3 of another cluster dials the address of this node' }],
  databases: [
    {
      name: 'shop',
      databaseId: DATABASE_ID,
      group: toGroupId(9),
      copies: 5,
      nodes: [toNodeId(1), toNodeId(2)],
      leaving: [toNodeId(3)],
      isSettled: false,
      leader: toNodeId(2),
      members: [
        { node: toNodeId(1), isVoter: true, standing: 'behind', lag: 2 ** 40 },
        { node: toNodeId(2), isVoter: true, standing: 'diverged', lag: 0 },
      ],
      recovery: {
        before: toDatabaseId('0198c0de-0000-7000-8000-000000000003'),
        first: toDatabaseId('0198c0de-0000-7000-8000-000000000004'),
        revision: toRevision(2 ** 40),
      },
      recordedAheadMs: 2 ** 41,
    },
    {
      name: 'empty',
      databaseId: toDatabaseId('0198c0de-0000-7000-8000-000000000002'),
      group: toGroupId(10),
      copies: 0,
      nodes: [toNodeId(1)],
      leaving: [],
      isSettled: true,
      leader: undefined,
      members: [],
      recovery: undefined,
    },
  ],
};

const COPY_REPLY: Extract<AdminReply, { readonly kind: 'copy' }> = {
  kind: 'copy',
  clusterId: CLUSTER,
  node: toNodeId(3),
  copy: {
    replica: replicaOf(toNodeId(2), 7),
    group: toGroupId(9),
    revision: toRevision(2 ** 40),
    chainHash: new Uint8Array(32).fill(7),
    last: { index: toLogIndex(2 ** 41), term: toTerm(3) },
    unapplied: 5,
    voters: { incoming: [replicaOf(toNodeId(1))], outgoing: [replicaOf(toNodeId(2), 7), replicaOf(toNodeId(4))] },
    leader: toNodeId(2),
  },
};
const RECOVERED_REPLY: Extract<AdminReply, { readonly kind: 'recovered' }> = {
  kind: 'recovered',
  database: {
    name: 'shop',
    databaseId: DATABASE_ID,
    before: toDatabaseId('0198c0de-0000-7000-8000-000000000002'),
    node: toNodeId(3),
    revision: toRevision(2 ** 40),
    chainHash: new Uint8Array(32).fill(7),
  },
};
const DESCRIBED: Extract<AdminReply, { readonly kind: 'described' }> = { kind: 'described', cluster: DESCRIPTION };
const REPLIES = [COPY_REPLY, { ...COPY_REPLY, copy: undefined }, RECOVERED_REPLY] as const;
const ORDERS: readonly AdminRequest['order'][] = [
  { kind: 'describe' },
  { kind: 'decommission', node: toNodeId(3) },
  { kind: 'recommission', node: toNodeId(2 ** 32 - 1) },
  { kind: 'replace', node: toNodeId(3), by: undefined },
  { kind: 'replace', node: toNodeId(3), by: toNodeId(4) },
  { kind: 'drain', node: toNodeId(3), isGranted: false, stays: true, isDryRun: true },
  { kind: 'drain', node: toNodeId(3), isGranted: true, stays: true, isDryRun: false },
  { kind: 'undrain', node: toNodeId(3) },
  { kind: 'finalize' },
  { kind: 'copy', name: 'shop' },
  { kind: 'set-copies', name: 'shop', databaseId: undefined, copies: 0 },
  { kind: 'set-copies', name: 'shop', databaseId: DATABASE_ID, copies: 7 },
  { kind: 'recover', name: 'shop', from: toNodeId(3), acceptRevision: undefined },
  { kind: 'recover', name: 'shop', from: toNodeId(3), acceptRevision: 0 },
];

function publishedService(): ServiceDefinition {
  const file = join(import.meta.dirname, '../../../proto/cairn/admin/v1/admin.proto');
  const service = loadSync(file, { longs: Number, enums: String, defaults: true })['cairn.admin.v1.ClusterAdmin'];
  if (service === undefined || 'format' in service) throw new Error('There is the service');
  return service;
}

it.each(ORDERS)('an AdminRequest is decoded as it was encoded: %j', (order) => {
  for (const isPassedOn of [false, true]) {
    const request = { order, isPassedOn };
    expect(readAdminRequest(order.kind, writeAdminRequest(request))).toEqual(request);
  }
});

it.each(ORDERS)('an AdminRequest is rejected with a field of a later release: %j', (order) => {
  const bytes = Buffer.concat([writeAdminRequest({ order, isPassedOn: false }), Uint8Array.of(14 << 3, 1)]);
  const rule = /14 must be absent: cairn\.admin\.v1\.\w+Request has no field 14 of wire type 0$/;
  expect(readAdminRequest(order.kind, bytes)).toMatch(rule);
});

it.each([
  ['no node', Uint8Array.of()],
  ['node 0', Uint8Array.of(8, 0)],
  ['half a number', Uint8Array.of(8, 0x80)],
])('an AdminRequest is rejected with %s', (_name, bytes) => {
  expect(readAdminRequest('decommission', bytes)).toEqual(expect.any(String));
});

it.each([
  ['a name', { name: 'Shop' }, 'the name is no name of a database; DescribeCluster lists them'],
  ['an id', { databaseId: 'shop' }, 'the database_id is no UUIDv7'],
  ['a number', { copies: 8 }, '8 copies are more than 7; 0 means the setting of the cluster'],
])('a change of the copies is rejected with %s that makes no sense', (_name, given, reason) => {
  const bytes = SetCopiesRequest.encode({ name: 'shop', databaseId: '', copies: 3, isPassedOn: false, ...given });
  expect(readAdminRequest('set-copies', bytes.finish())).toBe(reason);
});

it.each(['', 'Shop', 'a'.repeat(64)])('a recovery is rejected with the name "%s"', (name) => {
  const order = { kind: 'recover', name, from: toNodeId(3), acceptRevision: 0 } as const;
  const bytes = writeAdminRequest({ order, isPassedOn: false });
  expect(readAdminRequest('recover', bytes)).toBe('the name is no name of a database; DescribeCluster lists them');
});

describe('an AdminReply', () => {
  it('is decoded as it was encoded', () => {
    const unled = { ...DESCRIPTION, catalogLeader: undefined, isConfirmed: false, nodes: [], databases: [] };
    for (const cluster of [DESCRIPTION, unled]) {
      const reply = { kind: 'described', cluster } as const;
      expect(readAdminReply('describe', writeAdminReply(reply))).toEqual(reply);
    }
    const done = { kind: 'done', node: NODE } as const;
    expect(readAdminReply('drain', writeAdminReply(done))).toEqual(done);
    const { node, name, zone, state, storeId, peer, grpc, http, levels, isLearner } = NODE;
    const registered = { node, name, zone, state, storeId, peer, grpc, http, levels, isLearner };
    const ordered = { kind: 'done', node: registered } as const;
    expect(readAdminReply('replace', writeAdminReply(ordered))).toMatchObject(ordered);
  });

  it('of a finalized upgrade is decoded as it was encoded, and is invalid without a level', () => {
    const finalized = { kind: 'finalized', level: 255 } as const;
    expect(readAdminReply('finalize', writeAdminReply(finalized))).toEqual(finalized);
    expect(readAdminReply('finalize', Uint8Array.of())).toBeUndefined();
    expect(readAdminReply('finalize', Uint8Array.of(8, 0x80))).toBeUndefined();
  });

  it('of a change of copies is decoded as it was encoded', () => {
    const reply = { kind: 'copies-set' } as const;
    expect(readAdminReply('set-copies', writeAdminReply(reply))).toEqual(reply);
    expect(readAdminReply('set-copies', Uint8Array.of(8))).toBeUndefined();
  });

  it.each(REPLIES)('of a recovery is decoded as it was encoded: $kind', (reply) => {
    expect(readAdminReply(reply.kind === 'copy' ? 'copy' : 'recover', writeAdminReply(reply))).toEqual(reply);
  });

  it('is decoded by the published proto file', () => {
    const service = publishedService();
    const paths = Object.values(service).map(({ path }) => path);
    expect(paths.toSorted()).toEqual(Object.values(ADMIN_METHODS).toSorted());
    const read = service['DescribeCluster']?.responseDeserialize(writeAdminReply(DESCRIBED));
    const levels = { levelMin: 1, levelMax: 7 };
    const leaving = { state: 'NODE_STATE_LEAVING', answers: true, catalogRole: 'CATALOG_ROLE_LEARNER' };
    const own = {
      release: '0.2.0',
      catalogIndex: 2 ** 40,
      unapplied: 12,
      diskUsedPercent: 87,
      components: ['ab'.repeat(32), 'cd'.repeat(32)],
      refused: [{ digest: 'ef'.repeat(32), fault: 'NotPublished: why' }],
    };
    const removed = { state: 'NODE_STATE_REMOVED', answers: false, catalogRole: 'CATALOG_ROLE_NONE' };
    const members = [
      { node: 1, isVoter: true, standing: 'STANDING_BEHIND', lag: 2 ** 40 },
      { node: 2, isVoter: true, standing: 'STANDING_DIVERGED' },
    ];
    const previousDatabaseId = '0198c0de-0000-7000-8000-000000000003';
    const firstDatabaseId = '0198c0de-0000-7000-8000-000000000004';
    const recoveryOf = { previousDatabaseId, firstDatabaseId, revision: 2 ** 40 };
    const shop = {
      name: 'shop',
      group: 9,
      copies: 5,
      nodes: [1, 2],
      leaving: [3],
      isSettled: false,
      leader: 2,
      members,
    };
    expect(read).toMatchObject({
      clusterId: CLUSTER,
      catalogLeader: 2,
      catalogIndex: 2 ** 40,
      isConfirmed: true,
      level: 6,
      diverged: [{ node: 2, group: 7, title: 'database "shop"', reason: expect.stringMatching(/^the term/) }],
      otherClusters: [{ node: 3, reason: expect.stringMatching(/^Node 3 of another/) }],
      nodes: [
        {
          ...levels,
          ...leaving,
          node: 3,
          host: '::1',
          isDraining: true,
          isLearner: true,
          copies: 300,
          movableLeads: 6,
          own,
          clockBehindMs: 4000,
        },
        { ...removed, node: 4, clockAheadMs: 2 ** 40 },
      ],
      databases: [
        { ...shop, recovery: recoveryOf, recordedAheadMs: 2 ** 41 },
        { name: 'empty', nodes: [1], isSettled: true, leader: 0 },
      ],
    });
    const said = service['DescribeCopy']?.responseDeserialize(writeAdminReply(COPY_REPLY));
    const copy = { replica: 2 ** 21 + 7, revision: 2 ** 40, lastIndex: 2 ** 41, voters: [2 ** 20], leader: 2 };
    expect(said).toMatchObject({ clusterId: CLUSTER, node: 3, copy: { ...copy, group: 9, unapplied: 5 } });
    const recovered = service['RecoverDatabase']?.responseDeserialize(writeAdminReply(RECOVERED_REPLY));
    expect(recovered).toMatchObject({ name: 'shop', node: 3, revision: 2 ** 40, databaseId: expect.any(String) });
    const recovery = service['RecoverDatabase']?.requestSerialize({ name: 'shop', from: 3, acceptRevision: 0 });
    const wanted = { order: ORDERS.at(-1), isPassedOn: false };
    expect(readAdminRequest('recover', recovery ?? Buffer.alloc(0))).toEqual(wanted);
  });

  it('has requests that the published proto file encodes', () => {
    const service = publishedService();
    const asked = service['ReplaceNode']?.requestSerialize({ node: 3, by: 4 }) ?? Buffer.alloc(0);
    expect(readAdminRequest('replace', asked)).toEqual({ order: ORDERS[4], isPassedOn: false });
    const drain = service['DrainNode']?.requestSerialize({ node: 3, isGranted: true, stay: true }) ?? Buffer.alloc(0);
    expect(readAdminRequest('drain', drain)).toEqual({ order: ORDERS[6], isPassedOn: false });
    const number = { name: 'shop', databaseId: DATABASE_ID, copies: 7 };
    const copies = service['SetCopies']?.requestSerialize(number) ?? Buffer.alloc(0);
    expect(readAdminRequest('set-copies', copies)).toEqual({ order: ORDERS[11], isPassedOn: false });
  });

  it('is undefined, and not an exception, for any other bytes', () => {
    const written = [DESCRIBED, COPY_REPLY, RECOVERED_REPLY].map(writeAdminReply);
    const damaged = fc.constantFrom(...written).chain((intact) =>
      fc
        .record({ at: fc.nat(intact.length - 1), flip: fc.integer({ min: 1, max: 255 }), end: fc.nat(intact.length) })
        .map(({ at, flip, end }) =>
          Uint8Array.from(intact)
            .with(at, (intact[at] ?? 0) ^ flip)
            .subarray(0, end),
        ),
    );
    const property = fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 64 })), (bytes) => {
      for (const kind of ['describe', 'drain', 'copy', 'recover', 'set-copies'] as const) {
        expect(['object', 'undefined']).toContain(typeof readAdminReply(kind, bytes));
      }
      for (const { kind } of ORDERS) expect(['object', 'string']).toContain(typeof readAdminRequest(kind, bytes));
    });
    expect(() => fc.assert(property, { numRuns: 1_000 })).not.toThrow();
  });
});
