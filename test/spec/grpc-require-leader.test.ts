// Goal: a write that is for the leader alone is taken by the leader alone, and any other write by whichever node it
// comes to. Method: three real nodes in this process, each of which is asked the same.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ActivateStateViewRequest,
  ComponentKind,
  DeactivateStateViewRequest,
  DefineStateChangeRequest,
  DefineStateViewRequest,
  DeleteComponentRequest,
  ExecuteStateChangeRequest,
  ExpireSnapshotsRequest,
  MaintenanceMode,
  ProcessStateChangeRequest,
  PublishPresenterRequest,
  PublishStateChangeRequest,
  PublishStateViewRequest,
} from '../../src/transport/grpc/gen/cairn/v1/component.ts';
import { changeText } from '../support/components/change-text.ts';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { type CallOptions, GrpcFailure } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { untilAllAreVoters } from '../support/server-cluster.ts';
import { endWithFile } from '../support/test-scope.ts';
import { wat } from '../support/wasm/wat.ts';

const FOR_THE_LEADER: CallOptions = { metadata: { 'x-require-leader': 'true' } };
const FOR_ANYBODY: CallOptions = { metadata: { 'x-require-leader': 'false' } };

const SLOW: CallOptions = { deadlineMs: 60_000 };

const nodes: TestServer[] = [];
let view: Buffer;
let change: Buffer;
let presenter: Buffer;

beforeAll(async () => {
  view = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: false })).bytes());
  change = Buffer.from(await wat(changeText('unreachable')));
  presenter = Buffer.from(await wat(SHOWING));
  const first = await started('--node-name=one');
  for (const name of ['two', 'three']) await started(`--node-name=${name}`, `--join=${first.peer}`);
  await untilAllAreVoters(first, 3);
}, 60_000);

async function started(...settings: readonly string[]): Promise<TestServer> {
  const server = await startTestServer('--peer-port=0', ...settings);
  endWithFile(() => server[Symbol.asyncDispose]());
  nodes.push(server);
  return server;
}

interface Told {
  readonly node: string;
  /** OK, or the code of the refusal and its finer reason. */
  readonly result: string;
  readonly leader: unknown;
}

type Write = (
  node: TestServer,
  options: CallOptions,
) => Promise<{ readonly trailers: Readonly<Record<string, unknown>> }>;

/** What each node says to a write of its own, one after the other. */
async function asked(write: Write, options: CallOptions): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const node of nodes) told.push(await answerOf(node, write(node, options)));
  return told;
}

async function answerOf(node: TestServer, answer: ReturnType<Write>): Promise<Told> {
  try {
    return { node: node.grpc, result: 'OK', leader: (await answer).trailers['x-leader-address'] };
  } catch (failure) {
    if (!(failure instanceof GrpcFailure)) throw failure;
    const result = `${failure.code} ${failure.info?.metadata['reason']}`;
    return { node: node.grpc, result, leader: failure.trailers['x-leader-address'] };
  }
}

/** A database with a copy on each node. */
async function newDatabase(): Promise<string> {
  const databaseName = uniqueName();
  await nodes[0]?.client.send('createDatabase', { databaseName });
  return databaseName;
}

const creation: Write = ({ client }, options) => client.call('createDatabase', { databaseName: uniqueName() }, options);

const transactionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('transact', transaction(databaseName, [event({ id: uniqueName() })]), options);

/** Of an instance that the name does not mean, so that the first one leaves the same to the next. */
const deletionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('deleteDatabase', { databaseName, databaseId: '0193a1b2-c3d4-7e5f-8a9b-100000000000' }, options);

type Row = [method: string, made: () => Promise<Write>];

type Sent = (node: TestServer, options: CallOptions, databaseName: string) => ReturnType<Write>;

/** Under another name each time: of what is there already nothing is written. */
const publications: Readonly<Record<string, Sent>> = {
  publishStateView: ({ client }, options, databaseName) => {
    const published = { databaseName, stateViewName: uniqueName('view'), contentType: 'text/plain', wasmBytes: view };
    const request = PublishStateViewRequest.fromPartial({ ...published, eventSelection: { selectors: [] } });
    return client.call('publishStateView', request, { ...SLOW, ...options });
  },
  publishStateChange: ({ client }, options, databaseName) => {
    const published = { databaseName, stateChangeName: uniqueName('change'), wasmBytes: change };
    const request = PublishStateChangeRequest.fromPartial(published);
    return client.call('publishStateChange', request, { ...SLOW, ...options });
  },
  publishPresenter: ({ client }, options, databaseName) => {
    const published = { databaseName, presenterName: uniqueName('page'), wasmBytes: presenter };
    const request = PublishPresenterRequest.fromPartial({ ...published, offers: [{ contentType: 'text/plain' }] });
    return client.call('publishPresenter', request, { ...SLOW, ...options });
  },
  defineStateView: ({ client }, options, databaseName) => {
    const definition = { name: uniqueName('view'), contentType: 'text/plain', wasmComponent: view };
    const request = { databaseName, definition: { ...definition, eventSelection: { selectors: [] } } };
    return client.call('defineStateView', DefineStateViewRequest.fromPartial(request), { ...SLOW, ...options });
  },
  defineStateChange: ({ client }, options, databaseName) => {
    const request = { databaseName, definition: { name: uniqueName('change'), wasmComponent: change } };
    return client.call('defineStateChange', DefineStateChangeRequest.fromPartial(request), { ...SLOW, ...options });
  },
};

const kept = { stateViewName: 'kept', version: 1 };

/** What is done to a State View that is there. */
const turns: Readonly<Record<string, Sent>> = {
  activateStateView: ({ client }, options, databaseName) => {
    const request = { ...kept, databaseName, maintenanceMode: MaintenanceMode.MAINTENANCE_MODE_SCHEDULED };
    return client.call('activateStateView', ActivateStateViewRequest.fromPartial(request), options);
  },
  deactivateStateView: ({ client }, options, databaseName) =>
    client.call('deactivateStateView', DeactivateStateViewRequest.fromPartial({ ...kept, databaseName }), options),
  expireSnapshots: ({ client }, options, databaseName) => {
    const request = { databaseName, stateViewName: kept.stateViewName };
    return client.call('expireSnapshots', ExpireSnapshotsRequest.fromPartial(request), options);
  },
  deleteComponent: async ({ client }, options, databaseName) => {
    const name = uniqueName('deleted');
    await publishView(databaseName, name);
    const request = { databaseName, kind: ComponentKind.COMPONENT_KIND_STATE_VIEW, name };
    return client.call('deleteComponent', DeleteComponentRequest.fromPartial(request), options);
  },
};

async function publishView(databaseName: string, stateViewName: string): Promise<void> {
  const published = { databaseName, stateViewName, contentType: 'text/plain', wasmBytes: view };
  const request = PublishStateViewRequest.fromPartial({ ...published, eventSelection: { selectors: [] } });
  await nodes[0]?.client.send('publishStateView', request, SLOW);
}

async function publicationOf(method: string): Promise<Write> {
  const databaseName = await newDatabase();
  return (node, options) => sentBy(publications, method)(node, options, databaseName);
}

async function turnOf(method: string): Promise<Write> {
  const databaseName = await newDatabase();
  await publishView(databaseName, kept.stateViewName);
  return (node, options) => sentBy(turns, method)(node, options, databaseName);
}

function sentBy(all: Readonly<Record<string, Sent>>, method: string): Sent {
  const sent = all[method];
  if (sent === undefined) throw new Error(`there is no ${method}`);
  return sent;
}

describe('SPEC-GRPC-REQUIRE-LEADER in a cluster', () => {
  it.each<Row>([
    ['createDatabase', async () => creation],
    ['transact', async () => transactionOf(await newDatabase())],
    ['deleteDatabase', async () => deletionOf(await newDatabase())],
    ...Object.keys(publications).map((method) => [method, () => publicationOf(method)] satisfies Row),
    ...Object.keys(turns).map((method) => [method, () => turnOf(method)] satisfies Row),
  ])('%s with true is taken by the leader only, and with false by every node', async (_method, made) => {
    const write = await made();
    // Which of them leads is known to all of them a moment later.
    await eventually(async () => {
      const told = await asked(write, FOR_THE_LEADER);
      const leader = told.find(({ result }) => result === 'OK')?.node;
      expect(told.map(({ result }) => result).toSorted()).toEqual([
        'OK',
        'UNAVAILABLE NotLeader',
        'UNAVAILABLE NotLeader',
      ]);
      expect(told.map((each) => each.leader)).toEqual([leader, leader, leader]);
      const forAnybody = await asked(write, FOR_ANYBODY);
      expect(forAnybody).toEqual(nodes.map(({ grpc: node }) => ({ node, result: 'OK', leader })));
    });
  });

  it('a write that was refused has changed nothing', async () => {
    const databaseName = await newDatabase();
    await eventually(async () => {
      const at = async (): Promise<unknown> =>
        (await nodes[0]?.client.send('fetchLatestDatabase', { databaseName }))?.database?.revision;
      const before = Number(await at());
      const told = await asked(transactionOf(databaseName), FOR_THE_LEADER);
      expect(told.filter(({ result }) => result === 'OK')).toHaveLength(1);
      expect(await at()).toBe(before + 1);
    });
  });

  // There is no such State Change, which only a node says that has looked for it: to run it comes behind that.
  it.each([
    [
      'executeStateChange',
      (databaseName: string): Write =>
        ({ client }, options) => {
          const request = { method: 'POST', path: '/' };
          const named = { databaseName, stateChangeName: 'none', version: 1, request };
          return client.call('executeStateChange', ExecuteStateChangeRequest.fromPartial(named), options);
        },
    ],
    [
      'processStateChange',
      (databaseName: string): Write =>
        ({ client }, options) => {
          const named = { databaseName, stateChangeName: 'none', command: { contentType: 'text/plain' } };
          return client.call('processStateChange', ProcessStateChangeRequest.fromPartial(named), options);
        },
    ],
  ])('%s with true is refused before the component is looked for', async (_method, made) => {
    const write = made(await newDatabase());
    await eventually(async () => {
      const told = await asked(write, FOR_THE_LEADER);
      const leader = told.find(({ result }) => result === 'NOT_FOUND StateChangeNotFound')?.node;
      expect(told.map(({ result }) => result).toSorted()).toEqual([
        'NOT_FOUND StateChangeNotFound',
        'UNAVAILABLE NotLeader',
        'UNAVAILABLE NotLeader',
      ]);
      const refused = told.filter(({ result }) => result === 'UNAVAILABLE NotLeader');
      expect(refused.map((each) => each.leader)).toEqual([leader, leader]);
      const forAnybody = await asked(write, FOR_ANYBODY);
      expect(forAnybody.map(({ result }) => result)).toEqual(nodes.map(() => 'NOT_FOUND StateChangeNotFound'));
    });
  });
});
