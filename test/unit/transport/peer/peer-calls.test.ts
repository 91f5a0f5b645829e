// Goal: the peer port logs the cause of a call that fails because of a bug, and cancels the handler with its call.
// Method: handlers of a node, and gRPC clients.
import { connect } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { LEVELS } from '#base';
import type { AdminRequest, JoinRequest } from '#cluster';
import { askAdmin, askToJoin } from '#transport/peer';
import { ADMIN_METHODS, writeAdminRequest } from '../../../../src/transport/admin-messages.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { JOIN, writeJoinRequest } from '../../../../src/transport/peer/peer-messages.ts';
import { until } from '../../../support/eventually.ts';
import { openStream } from '../../../support/grpc-world.ts';
import { CLUSTER, LinkedNode, placeOf } from '../../../support/peer-nodes.ts';

const NODE = placeOf(2);
const STORE = { storeId: placeOf(1).store, name: '', zone: '', grpc: '', http: '' };
const REGISTRATION = { ...STORE, peer: { host: 'north', port: 1 }, levels: LEVELS, isLearner: false };
const JOINING: JoinRequest = { clusterId: CLUSTER, registration: REGISTRATION, release: '', run: 9 };
const FINALIZE: AdminRequest = { order: { kind: 'finalize' }, isPassedOn: false };
const BUG = 'This is a bug in Cairn; the log of the node says more';

it('logs the cause of a failed call, and tells the client only that it has failed', async () => {
  await using node = await LinkedNode.open(NODE);
  const error = new Error('no such row', { cause: new Error('the table is damaged') });
  node.links.onJoin(() => Promise.reject(error));
  node.links.onAdmin?.(() => Promise.reject(error));
  expect(await askToJoin(node.peer, JOINING, 5_000)).toEqual({ kind: 'later', reason: BUG });
  expect(await askAdmin(node.peer, FINALIZE, 5_000)).toEqual({ kind: 'later', reason: BUG });
  const lines = ['Join', 'FinalizeUpgrade'].map((method) => ['grpc-call-failed', { method, error }]);
  expect(node.logged).toEqual(lines);
});

it.each([
  ['a join', JOIN, writeJoinRequest(JOINING)],
  ['an admin request', ADMIN_METHODS.finalize, writeAdminRequest(FINALIZE)],
])('%s that its client cancels is cancelled for its handler', async (_name, path, message) => {
  await using node = await LinkedNode.open(NODE);
  const asked: (AbortSignal | undefined)[] = [];
  const never = ({ signal }: JoinRequest | AdminRequest): Promise<never> => {
    asked.push(signal);
    return new Promise(() => undefined);
  };
  node.links.onJoin(never);
  node.links.onAdmin?.(never);
  const client = connect(`http://127.0.0.1:${node.links.port}`).on('error', () => undefined);
  onTestFinished(() => client.destroy());
  const stream = openStream(client, path, frame(message));
  await until(() => asked.length === 1);
  expect(asked[0]?.aborted).toBe(false);
  stream.close(8);
  await until(() => asked[0]?.aborted);
});
