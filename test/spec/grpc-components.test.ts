// Components over gRPC can be published, listed, activated, rendered and deleted. The same definition has the same
// meaning over gRPC and HTTP.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ComponentKind,
  KeyType,
  MaintenanceMode,
  Priority,
  PublishPresenterRequest,
  PublishStateChangeRequest,
  PublishStateViewRequest,
  QueryTemporality,
  type State,
} from '../../proto/gen/cairn/v1/component.ts';
import { ParameterTerm } from '../../proto/gen/cairn/v1/event.ts';
import { changeText, NO_EVENT } from '../support/components/change-text.ts';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { failureOf, type GrpcFailure, outcomeOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { jsonOf } from '../support/http-client.ts';
import { startTestServer } from '../support/server.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { wat } from '../support/wasm/wat.ts';

const SLOW = { deadlineMs: 60_000 };
const BY_ACCOUNT = {
  selectors: [{ kind: { $case: 'parameter', value: { name: 'account', term: ParameterTerm.PARAMETER_TERM_SUBJECT } } }],
} as const;
const SCHEMA = '{"type": "array"}';
const OF_A = { 'subject.account': 'a' };

const { server, api } = await sharedHttpNode();
const { client } = server;
let wasmBytes: Buffer;

beforeAll(async () => {
  wasmBytes = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
});

/** Creates a database in which the account `a` has two events in revision 1 and one in revision 2. */
async function bank(): Promise<string> {
  const databaseName = await client.created();
  for (const ids of [['1', '2'], ['3']]) {
    const events = ids.map((id) => event({ id, subject: 'a' }));
    await client.send('transact', transaction(databaseName, events));
  }
  return databaseName;
}

type Metadata = Parameters<typeof PublishStateViewRequest.fromPartial>[0];

function balances(databaseName: string, more: Metadata = {}): PublishStateViewRequest {
  return PublishStateViewRequest.fromPartial({
    databaseName,
    stateViewName: 'balances',
    contentType: 'application/x-count',
    eventSelection: BY_ACCOUNT,
    wasmBytes,
    ...more,
  });
}

async function publish(databaseName: string, more: Metadata = {}): Promise<number> {
  return (await client.send('publishStateView', balances(databaseName, more), SLOW)).version;
}

/** The number of counted events, and the parameters that the component received. */
function readState({ bytes }: State): { readonly count: number; readonly parameters: string } {
  // The parameters begin at the last `{`; the hash before them may contain this byte, too.
  const from = bytes.lastIndexOf('{');
  return { count: from === 0 ? 0 : bytes.readUInt32LE(0), parameters: bytes.subarray(from).toString() };
}

const reasonsOf = ({ code, info, fields }: GrpcFailure): unknown => [code, info?.metadata['reason'], fields];

describe('SPEC-GRPC-PUBLISH', () => {
  it('gives a State View its first version, and the same version when it is published again', async () => {
    const databaseName = await bank();
    const first = await client.call('publishStateView', balances(databaseName), SLOW);
    expect(first.message).toEqual({ version: 1 });
    expect(first.headers).toMatchObject({ 'x-revision': '2', 'x-database-id': expect.any(String) });
    expect(first.trailers).toMatchObject({ 'x-leader-node': expect.any(String) });
    expect([await publish(databaseName), await publish(databaseName, { description: 'new' })]).toEqual([1, 2]);
    expect(await publish(databaseName)).toBe(1);
  });

  it('is refused with the code and the place of a fault of the component', async () => {
    const databaseName = await bank();
    const none = await failureOf(publish(databaseName, { wasmBytes: Buffer.from('not a component') }));
    expect(reasonsOf(none)).toEqual(['INVALID_ARGUMENT', 'InvalidComponent', ['wasm_bytes']]);
    expect(none.message).toMatch(/^wasm_bytes is refused: .*\(at byte 0\)$/);
    const presenter = PublishPresenterRequest.fromPartial({
      databaseName,
      presenterName: 'page',
      offers: [{ contentType: 'text/html' }],
      wasmBytes,
    });
    expect(await outcomeOf(client.send('publishPresenter', presenter, SLOW))).toBe('INVALID_ARGUMENT MissingExport');
    const list = await client.send('listComponentVersions', { databaseName, kind: 0 });
    expect(list.versions).toEqual([]);
  });

  it('is not found without the database', async () => {
    expect(await outcomeOf(publish('no-such-database'))).toBe('NOT_FOUND DatabaseNotFound');
  });

  it('is refused for a component above the size limit', async () => {
    const wasmTooLarge = Buffer.alloc(64 * 1024 * 1024 + 1);
    await using roomy = await startTestServer('--request-memory-bytes=256MiB');
    const databaseName = await roomy.client.created();
    const asked = roomy.client.send('publishStateView', balances(databaseName, { wasmBytes: wasmTooLarge }), SLOW);
    expect(reasonsOf(await failureOf(asked))).toEqual(['RESOURCE_EXHAUSTED', 'TooLarge', ['wasm_bytes']]);
  });
});

it('SPEC-GRPC-VERSIONS are listed with their definitions, deactivated and activated', async () => {
  const databaseName = await bank();
  await publish(databaseName, { description: 'first' });
  await publish(databaseName, { description: 'second' });
  const expected = (version: number, description: string, active: boolean, mode: MaintenanceMode): unknown => ({
    kind: ComponentKind.COMPONENT_KIND_STATE_VIEW,
    name: 'balances',
    version,
    description,
    wasmDigest: createHash('sha256').update(wasmBytes).digest(),
    publishedAt: expect.anything(),
    active,
    maintenanceMode: mode,
  });
  const { MAINTENANCE_MODE_LAZY: LAZY, MAINTENANCE_MODE_EAGER: EAGER } = MaintenanceMode;
  const both = [expected(1, 'first', true, LAZY), expected(2, 'second', true, LAZY)];
  for (const request of [{ kind: 0 }, { kind: 1, name: 'balances' }, { kind: 0, name: 'balances' }] as const) {
    const { versions } = await client.send('listComponentVersions', { databaseName, ...request });
    expect(versions).toEqual(both);
  }
  for (const request of [{ kind: 2 }, { kind: 1, name: 'other' }] as const) {
    const { versions } = await client.send('listComponentVersions', { databaseName, ...request });
    expect(versions).toEqual([]);
  }
  const titled = { databaseName, stateViewName: 'balances', version: 2 };
  const off = await client.send('deactivateStateView', titled);
  expect(off.version).toEqual(expected(2, 'second', false, LAZY));
  const on = await client.send('activateStateView', { ...titled, maintenanceMode: EAGER });
  expect(on.version).toEqual(expected(2, 'second', true, EAGER));
  const gone = await failureOf(client.send('deactivateStateView', { ...titled, version: 3 }));
  expect([gone.code, gone.info?.metadata['reason']]).toEqual(['NOT_FOUND', 'StateViewNotFound']);
  const mode = await failureOf(client.send('activateStateView', { ...titled, maintenanceMode: 9 as 0 }));
  expect([mode.code, mode.fields]).toEqual(['INVALID_ARGUMENT', ['maintenance_mode']]);
});

describe('SPEC-GRPC-VERSIONS of State Changes and presenters', () => {
  const { COMPONENT_KIND_STATE_CHANGE: CHANGE, COMPONENT_KIND_PRESENTER: PRESENTER } = ComponentKind;
  const { MAINTENANCE_MODE_LAZY: LAZY, MAINTENANCE_MODE_EAGER: EAGER } = MaintenanceMode;

  async function twoChanges(): Promise<string> {
    const databaseName = await bank();
    const bytes = Buffer.from(await wat(changeText(NO_EVENT)));
    for (const description of ['first', 'second']) {
      const request = { databaseName, stateChangeName: 'book', description, wasmBytes: bytes };
      const inactive = description === 'second';
      const publication = PublishStateChangeRequest.fromPartial({ ...request, inactive });
      await client.send('publishStateChange', publication, SLOW);
    }
    return databaseName;
  }

  const activeOf = async (databaseName: string): Promise<readonly (readonly [number, boolean])[]> => {
    const { versions } = await client.send('listComponentVersions', { databaseName, kind: CHANGE });
    return versions.map(({ version, active }) => [version, active] as const);
  };
  const outcomeOfCommand = (databaseName: string, version?: number): Promise<string> => {
    const request = { method: 'POST', path: '/', queryParams: [], headers: [] };
    const asked = { databaseName, stateChangeName: 'book', version, request };
    return outcomeOf(client.send('decideStateChange', asked, SLOW));
  };

  it('are used by commands from their activation until their deactivation', async () => {
    const databaseName = await twoChanges();
    const second = { databaseName, kind: CHANGE, name: 'book', version: 2 };
    expect(await activeOf(databaseName)).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(await outcomeOfCommand(databaseName, 2)).toBe('NOT_FOUND StateChangeNotFound');
    const on = await client.send('activateComponent', { ...second, maintenanceMode: LAZY });
    expect([on.version?.version, on.version?.active]).toEqual([2, true]);
    expect(await outcomeOfCommand(databaseName, 2)).toBe('OK');
    for (const version of [1, 2]) await client.send('deactivateComponent', { ...second, version });
    expect(await outcomeOfCommand(databaseName)).toBe('NOT_FOUND StateChangeNotFound');
  });

  it('keep their status when they are published again, active or not', async () => {
    const databaseName = await twoChanges();
    const bytes = Buffer.from(await wat(changeText(NO_EVENT)));
    for (const inactive of [true, false]) {
      for (const description of ['first', 'second']) {
        const request = { databaseName, stateChangeName: 'book', description, wasmBytes: bytes, inactive };
        await client.send('publishStateChange', PublishStateChangeRequest.fromPartial(request), SLOW);
      }
    }
    expect(await activeOf(databaseName)).toEqual([
      [1, true],
      [2, false],
    ]);
  });

  it('are deleted only while they are inactive, when the request says so', async () => {
    const databaseName = await twoChanges();
    const all = { databaseName, kind: CHANGE, name: 'book', onlyInactive: true };
    for (const version of [1, undefined]) {
      const refused = await outcomeOf(client.send('deleteComponent', { ...all, version }));
      expect([version, refused]).toEqual([version, 'FAILED_PRECONDITION VersionActive']);
    }
    await client.send('deleteComponent', { ...all, version: 2 });
    expect(await activeOf(databaseName)).toEqual([[1, true]]);
    await client.send('deactivateComponent', { ...all, version: 1 });
    await client.send('deleteComponent', all);
    expect(await activeOf(databaseName)).toEqual([]);
  });

  it.each([
    ['kind', { kind: 0 as const }],
    ['maintenance_mode', { kind: PRESENTER, maintenanceMode: EAGER }],
  ])('are refused with the field %s', async (field, part) => {
    const request = { databaseName: 'nowhere', name: 'x', version: 1, maintenanceMode: LAZY, ...part };
    const failure = await failureOf(client.send('activateComponent', request));
    expect([failure.code, failure.fields]).toEqual(['INVALID_ARGUMENT', [field]]);
  });

  it('can be published inactive, as can presenters and State Views', async () => {
    const databaseName = await bank();
    await publish(databaseName, { inactive: true });
    const shown = { presenterName: 'page', wasmBytes: Buffer.from(await wat(SHOWING)) };
    const presented = { ...shown, databaseName, offers: [{ contentType: 'text/html' }], inactive: true };
    const presenter = PublishPresenterRequest.fromPartial(presented);
    await client.send('publishPresenter', presenter, SLOW);
    const { versions } = await client.send('listComponentVersions', { databaseName, kind: 0 });
    expect(versions.map(({ active }) => active)).toEqual([false, false]);
    const view = { databaseName, stateViewName: 'balances', parameters: OF_A };
    expect(await outcomeOf(client.send('fetchStateView', view))).toBe('NOT_FOUND StateViewNotFound');
  });
});

describe('SPEC-GRPC-FETCH-STATE-VIEW', () => {
  it('renders the latest state, and that of a revision, with its parameters', async () => {
    const databaseName = await bank();
    await publish(databaseName);
    const request = { databaseName, stateViewName: 'balances', parameters: OF_A };
    const latest = await client.call('fetchStateView', request, SLOW);
    expect(latest.message).toMatchObject({ contentType: 'application/x-count', revision: 2, version: 1 });
    expect(readState(latest.message)).toEqual({ count: 3, parameters: '{"subject.account":"a"}' });
    expect(latest.headers).toMatchObject({ 'x-revision': '2', 'x-database-id': expect.any(String) });
    await client.send('transact', transaction(databaseName, [event({ id: '4', subject: 'a' })]));
    const at = { ...request, revision: 2, effectiveTimeEndAt: undefined };
    expect(readState(await client.send('fetchStateViewAtRevision', at)).count).toBe(3);
    expect(readState(await client.send('fetchStateViewAtRevision', { ...at, revision: 3 })).count).toBe(4);
    expect(readState(await client.send('fetchStateViewAtRevision', { ...at, revision: 1 })).count).toBe(2);
    const late = await failureOf(client.send('fetchStateViewAtRevision', { ...at, revision: 9 }));
    expect([late.code, late.info?.metadata['reason']]).toEqual(['NOT_FOUND', 'RevisionNotFound']);
  });

  it('renders a view in the order of effective time up to now, or up to a given time', async () => {
    const databaseName = await bank();
    const { QUERY_TEMPORALITY_EFFECTIVE_TIMESTAMP: queryTemporality } = QueryTemporality;
    await publish(databaseName, { queryTemporality, eventSelection: { selectors: [] } });
    const request = { databaseName, stateViewName: 'balances', parameters: {} };
    expect(readState(await client.send('fetchStateView', request, SLOW)).count).toBe(3);
    const at = { ...request, revision: 2, effectiveTimeEndAt: { seconds: 1, nanos: 0 } };
    expect(readState(await client.send('fetchStateViewAtRevision', at)).count).toBe(0);
    const uncut = { ...at, effectiveTimeEndAt: undefined };
    const refused = await failureOf(client.send('fetchStateViewAtRevision', uncut));
    expect([refused.code, refused.fields]).toEqual(['INVALID_ARGUMENT', ['effective_time_end_at']]);
  });

  it('names the parameters that are missing and those that are unknown', async () => {
    const databaseName = await bank();
    await publish(databaseName);
    const parameters = { 'stream.x': 'y' };
    const request = { databaseName, stateViewName: 'balances', parameters };
    const { code, info, fields } = await failureOf(client.send('fetchStateView', request));
    expect([code, info?.metadata['reason']]).toEqual(['INVALID_ARGUMENT', 'InvalidParameters']);
    expect(fields.toSorted()).toEqual(['parameters["stream.x"]', 'parameters["subject.account"]']);
  });
});

let databaseName: string;
let presenter: Buffer;
let change: Buffer;

beforeAll(async () => {
  databaseName = uniqueName();
  await client.send('createDatabase', { databaseName });
  presenter = Buffer.from(await wat(SHOWING));
  change = Buffer.from(await wat(changeText(NO_EVENT)));
  await client.send('publishPresenter', PublishPresenterRequest.fromPartial(showing()), SLOW);
});

function showing(more: object = {}): object {
  const offers = [{ contentType: 'text/plain' }];
  return { databaseName, presenterName: 'showing', offers, wasmBytes: presenter, ...more };
}

async function overHttp(kind: string, metadata: object, bytes: Buffer): Promise<string> {
  const text = JSON.stringify(metadata).replace('"SCHEMA"', SCHEMA);
  const { headers } = await api.publish(`${databaseName}/${kind}`, text, bytes);
  return headers.get('location') ?? '';
}

function pageOf(kind: string, name: string, version: number): string {
  return `/db/${databaseName}/${kind}/${name}/v${version}`;
}

const VIEWS: readonly (readonly [sent: object, metadata: object])[] = [
  [{ eventTypes: ['opened', 'closed'] }, { events: ['opened', 'closed'] }],
  [
    { eventTypes: ['opened'], eventSelection: { selectors: [{ kind: { $case: 'byStream', value: 'a' } }] } },
    { events: ['opened'], event_selector: { type: 'by_stream', value: 'a' } },
  ],
  [
    { eventTypes: ['t'], keyType: KeyType.KEY_TYPE_INT64, reduceFn: 'evolve', priority: Priority.PRIORITY_HIGH },
    { events: ['t'], key_type: 'Int64', reduce_fn: 'evolve', priority: 'high' },
  ],
  [
    { eventTypes: ['t'], keyType: KeyType.KEY_TYPE_STRING, priority: Priority.PRIORITY_LOW },
    { events: ['t'], key_type: 'String', priority: 'low' },
  ],
  [
    {
      eventTypes: ['t'],
      contentSchemaJson: Buffer.from(` ${SCHEMA}\n`),
      presenterName: 'showing',
      presenterVersion: 1,
    },
    { events: ['t'], content_schema: 'SCHEMA', presenter: { name: 'showing', version: 1 } },
  ],
  [
    { eventTypes: ['t'], contentSchema: 'https://schemas.example/v.json', sourceCodeUri: 'https://x.example/' },
    { events: ['t'], content_schema: 'https://schemas.example/v.json', source_code_uri: 'https://x.example/' },
  ],
];

describe('SPEC-GRPC-PUBLISH', () => {
  it.each(VIEWS)('publishes %j as the same State View as HTTP publishes %j', async (sent, metadata) => {
    const stateViewName = uniqueName().replace('-', '.');
    const { QUERY_TEMPORALITY_EFFECTIVE_TIMESTAMP: queryTemporality } = QueryTemporality;
    const common = { databaseName, stateViewName, contentType: 'text/x', queryTemporality, wasmBytes };
    const request = PublishStateViewRequest.fromPartial({ ...common, ...sent });
    const first = await client.send('publishStateView', request, SLOW);
    const order = { content_type: 'text/x', query_temporality: 'effective_timestamp' };
    const again = await overHttp('state-views', { state_view_name: stateViewName, ...order, ...metadata }, wasmBytes);
    expect([first.version, again]).toEqual([1, pageOf('state-views', stateViewName, 1)]);
    const ofOthers = { state_view_name: stateViewName, ...order, events: ['else'] };
    const other = await overHttp('state-views', ofOthers, wasmBytes);
    expect(other).toBe(pageOf('state-views', stateViewName, 2));
  });

  it('reads settings and names of State Views as HTTP does', async () => {
    const settings = { currency: 'EUR', theme: 'dark' };
    const asked = PublishPresenterRequest.fromPartial(showing({ presenterName: 'set', settings }));
    await client.send('publishPresenter', asked, SLOW);
    const metadata = { presenter_name: 'set', content_types: ['text/plain'], settings };
    expect(await overHttp('presenters', metadata, presenter)).toBe(pageOf('presenters', 'set', 1));
    const seen = { content_type: 'text/plain', query_temporality: 'revision', events: ['t'] };
    for (const name of ['a', 'b']) await overHttp('state-views', { ...seen, state_view_name: name }, wasmBytes);
    const changed = { databaseName, stateChangeName: 'reading', stateViewNames: ['b', 'a'], wasmBytes: change };
    await client.send('publishStateChange', PublishStateChangeRequest.fromPartial(changed), SLOW);
    const named = { state_change_name: 'reading', state_view_names: ['a', 'b'] };
    expect(await overHttp('state-changes', named, change)).toBe(pageOf('state-changes', 'reading', 1));
  });

  it('names every invalid part of a definition', async () => {
    const asked = PublishStateViewRequest.fromPartial({
      databaseName,
      stateViewName: 'bad',
      contentType: 'text/x',
      wasmBytes,
      eventTypes: ['t', ''],
      keyType: 9 as KeyType,
      priority: 8 as Priority,
      presenterVersion: 1,
      contentSchema: 'https://schemas.example/',
      contentSchemaJson: Buffer.from('[]'),
    });
    const both = await failureOf(client.send('publishStateView', asked, SLOW));
    const named = ['content_schema_json', 'event_types[1]', 'key_type', 'presenter_version', 'priority'];
    expect([both.code, both.fields.toSorted()]).toEqual(['INVALID_ARGUMENT', named]);
    const { contentSchema: _, ...rest } = asked;
    const sane = { ...rest, eventTypes: ['t'], keyType: 0, priority: 0, presenterVersion: undefined } as const;
    for (const schema of ['[]', '{', '"x"', '']) {
      const contentSchemaJson = Buffer.from(schema);
      const one = PublishStateViewRequest.fromPartial({ ...sane, contentSchemaJson });
      const refused = await failureOf(client.send('publishStateView', one, SLOW));
      expect([schema, refused.code, refused.fields]).toEqual([schema, 'INVALID_ARGUMENT', ['content_schema_json']]);
    }
    const twice = PublishStateViewRequest.fromPartial({ ...sane, contentSchema: 'https://schemas.example/' });
    const refused = await failureOf(client.send('publishStateView', twice, SLOW));
    expect(refused.fields).toEqual(['content_schema_json']);
  });
});

describe('SPEC-GRPC-VERSIONS', () => {
  it('deletes one version, or all versions of a name, of every kind', async () => {
    for (const name of ['gone', 'kept']) {
      for (const description of ['one', 'two']) {
        const asked = PublishPresenterRequest.fromPartial(showing({ presenterName: name, description }));
        await client.send('publishPresenter', asked, SLOW);
      }
    }
    const kind = ComponentKind.COMPONENT_KIND_PRESENTER;
    const remaining = async (name: string): Promise<number[]> =>
      (await client.send('listComponentVersions', { databaseName, kind, name })).versions.map(({ version }) => version);
    const one = await client.call('deleteComponent', { databaseName, kind, name: 'kept', version: 1 });
    expect(one.headers).toMatchObject({ 'x-database-id': expect.any(String), 'x-revision': '0' });
    expect(one.trailers).toMatchObject({ 'x-leader-node': expect.any(String) });
    await client.send('deleteComponent', { databaseName, kind, name: 'gone' });
    expect([await remaining('kept'), await remaining('gone')]).toEqual([[2], []]);
    for (const asked of [{ name: 'gone' }, { name: 'kept', version: 1 }, { name: 'kept', version: 9 }, { name: '!' }]) {
      const absent = await failureOf(client.send('deleteComponent', { databaseName, kind, ...asked }));
      expect([asked, absent.code, absent.info?.metadata['reason']]).toEqual([asked, 'NOT_FOUND', 'PresenterNotFound']);
    }
    const unsaid = await failureOf(client.send('deleteComponent', { databaseName, kind: 0, name: 'kept' }));
    expect([unsaid.code, unsaid.fields]).toEqual(['INVALID_ARGUMENT', ['kind']]);
  });

  it('expires snapshots, as HTTP does', async () => {
    const stateViewName = 'expiring';
    const asked = { databaseName, stateViewName, contentType: 'text/x', wasmBytes };
    await client.send('publishStateView', PublishStateViewRequest.fromPartial(asked), SLOW);
    expect(await client.send('expireSnapshots', { databaseName, stateViewName })).toEqual({ foldEpoch: 1 });
    const path = `/api/v1/db/${databaseName}/state-views/${stateViewName}/expire-snapshots`;
    expect(jsonOf(await api.post(path, ''))).toEqual({ epoch: 2 });
    const none = await failureOf(client.send('expireSnapshots', { databaseName, stateViewName: 'none' }));
    expect([none.code, none.info?.metadata['reason']]).toEqual(['NOT_FOUND', 'StateViewNotFound']);
  });
});
