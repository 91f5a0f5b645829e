// Goal: requests and replies of Join are decoded as they were encoded, and other bytes are rejected with a reason.
// Method: examples, changed and random bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { type JoinReply, type JoinRequest, toStoreId } from '#cluster';
import {
  readJoinReply,
  readJoinRequest,
  writeJoinReply,
  writeJoinRequest,
} from '../../../../src/transport/peer/peer-messages.ts';
import { CLUSTER, placeOf } from '../../../support/peer-nodes.ts';

const REQUEST: JoinRequest = {
  clusterId: CLUSTER,
  registration: {
    storeId: placeOf(3).store,
    name: 'cairn-2',
    zone: 'zürich',
    peer: { host: '::1', port: 50_052 },
    grpc: '[::1]:50051',
    http: 'http://[::1]:3000',
    mcp: 'https://[::1]:3001',
    levels: { min: 3, max: 255 },
    isLearner: true,
  },
  release: '0.1.0',
  run: 2 ** 53 - 1,
};
const JOINED: JoinReply = {
  kind: 'joined',
  clusterId: CLUSTER,
  node: toNodeId(2 ** 32 - 1),
  founders: [replicaOf(toNodeId(1)), replicaOf(toNodeId(2 ** 32 - 1), 7)],
  nodes: [
    { ...placeOf(1), host: 'one', port: 1 },
    { ...placeOf(2), host: '::1', port: 65_535 },
  ],
};

describe('a JoinRequest', () => {
  it.each([
    ['of a node', REQUEST],
    ['of a new store with few fields', { ...REQUEST, clusterId: undefined, release: '' }],
  ])('%s is decoded as it was encoded', (_name, request) => {
    expect(readJoinRequest(writeJoinRequest(request))).toEqual({ kind: 'ok', value: request });
  });

  it.each<readonly [wrong: object, reason: string]>([
    [{ storeId: toStoreId(placeOf(3).store).slice(1) }, 'is not a UUID'],
    [{ peer: { host: 'x', port: 70_000 } }, 'the port 70000 is above 65535'],
    [{ zone: 'z'.repeat(1_025) }, 'has 1025 characters, 1024 may be'],
    ...['a\nb', 'a\0b', '', 'foo bar', '//', 'xds:///x', 'unix:/tmp/x', '[::1', 'a'.repeat(256)].map(
      (host) => [{ peer: { host, port: 1 } }, 'is no IP address and no host name'] as const,
    ),
    ...['a b', 'a\u2028b', 'n'.repeat(256)].map((name) => [{ name }, 'the name'] as const),
    [{ zone: 'a\tb' }, 'the zone'],
    ...['10.0.0.1', '€:1'].map((grpc) => [{ grpc }, 'the grpc'] as const),
    ...['ftp://10.0.0.1', 'http://a\r\nb'].map((http) => [{ http }, 'the http'] as const),
  ])('with %j is rejected', (wrong, reason) => {
    const request = { ...REQUEST, registration: { ...REQUEST.registration, ...wrong } };
    const read = { kind: 'failure', reason: expect.stringContaining(reason) };
    expect(readJoinRequest(writeJoinRequest(request))).toMatchObject(read);
  });

  it('that is not UTF-8 is rejected', () => {
    const bytes = Buffer.from(writeJoinRequest(REQUEST));
    bytes[bytes.indexOf('cairn-2')] = 0xff;
    expect(readJoinRequest(bytes)).toEqual({ kind: 'failure', reason: 'the request is malformed' });
  });

  it('has its ids in lowercase, for any spelling', () => {
    const storeId = REQUEST.registration.storeId.toUpperCase();
    const shouted = {
      ...REQUEST,
      clusterId: CLUSTER.toUpperCase(),
      registration: { ...REQUEST.registration, storeId },
    };
    expect(readJoinRequest(writeJoinRequest(shouted))).toEqual({ kind: 'ok', value: REQUEST });
  });

  it('with an invalid cluster_id is rejected', () => {
    expect(readJoinRequest(writeJoinRequest({ ...REQUEST, clusterId: 'ours' }))).toMatchObject({ kind: 'failure' });
  });
});

it.each<[string, JoinReply]>([
  ['joined', JOINED],
  ['elsewhere', { kind: 'elsewhere', leader: { host: '::1', port: 5 } }],
  ['later', { kind: 'later', reason: 'no leader' }],
  ['refused', { kind: 'refused', reason: 'its name is taken' }],
  ['removed', { kind: 'removed', node: toNodeId(2 ** 32 - 1) }],
])('a JoinReply %s is decoded as it was encoded', (_name, reply) => {
  expect(readJoinReply(writeJoinReply(reply))).toEqual(reply);
});

it('a release without the reply "removed" receives a refusal that names the removed node (C39)', () => {
  const bytes = writeJoinReply({ kind: 'removed', node: toNodeId(3) });
  const known = bytes.subarray(0, bytes.lastIndexOf(8 * 8));
  expect(bytes.length - known.length).toBe(2);
  expect(readJoinReply(known)).toEqual({ kind: 'refused', reason: 'node 3 was removed' });
});

it('other bytes are decoded or rejected, never with an exception', () => {
  const written = [writeJoinRequest(REQUEST), writeJoinReply(JOINED)];
  const changed = fc
    .record({ which: fc.nat(1), at: fc.nat(150), flip: fc.integer({ min: 1, max: 255 }), isCut: fc.boolean() })
    .map(({ which, at, flip, isCut }) => {
      const bytes = Buffer.from(written[which] ?? []);
      if (isCut) return bytes.subarray(0, at);
      return Buffer.from(bytes.map((byte, place) => (place === at ? byte ^ flip : byte)));
    });
  const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  const property = fc.property(fc.oneof(changed, noise), (bytes) => {
    expect(['ok', 'failure']).toContain(readJoinRequest(bytes).kind);
    expect(['joined', 'elsewhere', 'later', 'refused']).toContain(readJoinReply(bytes).kind);
  });
  expect(() => fc.assert(property, { numRuns: 2_000 })).not.toThrow();
});
