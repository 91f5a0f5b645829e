// With `x-require-leader`, only the leader accepts a write. Three nodes receive the same write.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ActivateComponentRequest,
  ActivateStateViewRequest,
  ComponentKind,
  DeactivateComponentRequest,
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
} from '../../proto/gen/cairn/v1/component.ts';
import { changeText } from '../support/components/change-text.ts';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { type CallOptions, GrpcFailure, type UnaryName } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { type TestServer } from '../support/server.ts';
import { startNodes } from '../support/server-cluster.ts';
import { wat } from '../support/wasm/wat.ts';

const FOR_THE_LEADER: CallOptions = { metadata: { 'x-require-leader': 'true' } };
const FOR_ANYBODY: CallOptions = { metadata: { 'x-require-leader': 'false' } };

const SLOW: CallOptions = { deadlineMs: 60_000 };

const nodes = await startNodes();
let view: Buffer;
let change: Buffer;
let presenter: Buffer;

beforeAll(async () => {
  view = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: false })).bytes());
  change = Buffer.from(await wat(changeText('unreachable')));
  presenter = Buffer.from(await wat(SHOWING));
}, 60_000);

interface Told {
  readonly node: string;
  readonly result: string;
  readonly leader: unknown;
}

type Write = (
  node: TestServer,
  options: CallOptions,
) => Promise<{ readonly trailers: Readonly<Record<string, unknown>> }>;

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

const creation: Write = ({ client }, options) => client.call('createDatabase', { databaseName: uniqueName() }, options);

const transactionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('transact', transaction(databaseName, [event({ id: uniqueName() })]), options);

/** Names an instance that does not exist, so every node gets the same request under the same conditions. */
const deletionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('deleteDatabase', { databaseName, databaseId: '0193a1b2-c3d4-7e5f-8a9b-100000000000' }, options);

const KEPT = { stateViewName: 'kept', version: 1 };
const TITLED = { kind: ComponentKind.COMPONENT_KIND_STATE_VIEW, name: 'kept', version: 1 };
const SCHEDULED = MaintenanceMode.MAINTENANCE_MODE_SCHEDULED;

/** Each request uses a new name, because a repeated publication writes nothing. */
const REQUESTS: Readonly<Partial<Record<UnaryName, (databaseName: string) => object>>> = {
  publishStateView: (databaseName) =>
    PublishStateViewRequest.fromPartial({ ...viewOf(uniqueName('view')), databaseName }),
  publishStateChange: (databaseName) =>
    PublishStateChangeRequest.fromPartial({ databaseName, stateChangeName: uniqueName('change'), wasmBytes: change }),
  publishPresenter: (databaseName) => {
    const offers = [{ contentType: 'text/plain' }];
    const presenterName = uniqueName('presenter');
    return PublishPresenterRequest.fromPartial({ databaseName, presenterName, offers, wasmBytes: presenter });
  },
  defineStateView: (databaseName) => {
    const definition = { name: uniqueName('view'), contentType: 'text/plain', wasmComponent: view };
    const eventSelection = { selectors: [] };
    return DefineStateViewRequest.fromPartial({ databaseName, definition: { ...definition, eventSelection } });
  },
  defineStateChange: (databaseName) => {
    const definition = { name: uniqueName('change'), wasmComponent: change };
    return DefineStateChangeRequest.fromPartial({ databaseName, definition });
  },
  activateStateView: (databaseName) =>
    ActivateStateViewRequest.fromPartial({ ...KEPT, databaseName, maintenanceMode: SCHEDULED }),
  deactivateStateView: (databaseName) => DeactivateStateViewRequest.fromPartial({ ...KEPT, databaseName }),
  activateComponent: (databaseName) => ActivateComponentRequest.fromPartial({ ...TITLED, databaseName }),
  deactivateComponent: (databaseName) => DeactivateComponentRequest.fromPartial({ ...TITLED, databaseName }),
  expireSnapshots: (databaseName) =>
    ExpireSnapshotsRequest.fromPartial({ databaseName, stateViewName: KEPT.stateViewName }),
};

function viewOf(stateViewName: string): object {
  return { stateViewName, contentType: 'text/plain', wasmBytes: view, eventSelection: { selectors: [] } };
}

async function publishView(databaseName: string, stateViewName: string): Promise<void> {
  const request = PublishStateViewRequest.fromPartial({ ...viewOf(stateViewName), databaseName });
  await nodes[0].client.send('publishStateView', request, SLOW);
}

async function writeOf(method: UnaryName): Promise<Write> {
  const databaseName = await nodes[0].client.created();
  await publishView(databaseName, KEPT.stateViewName);
  const request = REQUESTS[method];
  if (request === undefined) throw new Error(`there is no ${method}`);
  return ({ client }, options) => client.call(method, request(databaseName), { ...SLOW, ...options });
}

async function deletionOfComponent(): Promise<Write> {
  const databaseName = await nodes[0].client.created();
  return async ({ client }, options) => {
    const name = uniqueName('deleted');
    await publishView(databaseName, name);
    const request = { databaseName, kind: ComponentKind.COMPONENT_KIND_STATE_VIEW, name };
    return client.call('deleteComponent', DeleteComponentRequest.fromPartial(request), options);
  };
}

describe('SPEC-GRPC-REQUIRE-LEADER in a cluster', () => {
  it.each<[method: string, made: () => Promise<Write>]>([
    ['createDatabase', async () => creation],
    ['transact', async () => transactionOf(await nodes[0].client.created())],
    ['deleteDatabase', async () => deletionOf(await nodes[0].client.created())],
    ['deleteComponent', deletionOfComponent],
    ...Object.keys(REQUESTS).map((method): [string, () => Promise<Write>] => [
      method,
      () => writeOf(method as UnaryName),
    ]),
  ])('%s with true is taken by the leader only, and with false by every node', async (_method, made) => {
    const write = await made();
    await eventually(async () => {
      const told = await asked(write, FOR_THE_LEADER);
      const leader = told.find(({ result }) => result === 'OK')?.node;
      const seen = told.map(({ result }) => result).toSorted();
      expect(seen).toEqual(['OK', 'UNAVAILABLE NotLeader', 'UNAVAILABLE NotLeader']);
      expect(told.map((each) => each.leader)).toEqual([leader, leader, leader]);
      const forAnybody = await asked(write, FOR_ANYBODY);
      expect(forAnybody).toEqual(nodes.map(({ grpc: node }) => ({ node, result: 'OK', leader })));
    });
  });

  it('a write that was refused has changed nothing', async () => {
    const databaseName = await nodes[0].client.created();
    await eventually(async () => {
      const at = async (): Promise<unknown> =>
        (await nodes[0].client.send('fetchLatestDatabase', { databaseName })).database?.revision;
      const before = Number(await at());
      const told = await asked(transactionOf(databaseName), FOR_THE_LEADER);
      expect(told.filter(({ result }) => result === 'OK')).toHaveLength(1);
      expect(await at()).toBe(before + 1);
    });
  });

  // The State Change does not exist. Only a node that looks for it can answer so, and it must refuse before it looks.
  it('a command with true is refused before the component is looked up', async () => {
    const databaseName = await nodes[0].client.created();
    const named = { databaseName, stateChangeName: 'none' };
    const execution = ExecuteStateChangeRequest.fromPartial({
      ...named,
      version: 1,
      request: { method: 'POST', path: '/' },
    });
    const processing = ProcessStateChangeRequest.fromPartial({ ...named, command: { contentType: 'text/plain' } });
    const writes: readonly Write[] = [
      ({ client }, options) => client.call('executeStateChange', execution, options),
      ({ client }, options) => client.call('processStateChange', processing, options),
    ];
    for (const write of writes) {
      await eventually(async () => {
        const told = await asked(write, FOR_THE_LEADER);
        const leader = told.find(({ result }) => result === 'NOT_FOUND StateChangeNotFound')?.node;
        const refused = told.filter(({ result }) => result === 'UNAVAILABLE NotLeader');
        expect(refused.map((each) => each.leader)).toEqual([leader, leader]);
        const forAnybody = await asked(write, FOR_ANYBODY);
        expect(forAnybody.map(({ result }) => result)).toEqual(nodes.map(() => 'NOT_FOUND StateChangeNotFound'));
      });
    }
  });
});
