// Goal: whatever a definition may say, it says over gRPC as over HTTP; and what becomes of versions is said by either.
// Method: a real node; everything is published by the one and then, as the same, by the other, which answers with the
// same version; and shown by the other's page.

import { beforeAll, describe, expect, it } from 'vitest';
import {
  ComponentKind,
  KeyType,
  Priority,
  PublishPresenterRequest,
  PublishStateChangeRequest,
  PublishStateViewRequest,
  QueryTemporality,
} from '../../src/transport/grpc/gen/cairn/v1/component.ts';
import { changeText, NO_EVENT } from '../support/components/change-text.ts';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { failureOf } from '../support/grpc-client.ts';
import { uniqueName } from '../support/grpc-requests.ts';
import { sharedServer } from '../support/shared-servers.ts';
import { wat } from '../support/wasm/wat.ts';

const SLOW = { deadlineMs: 60_000 };
const SCHEMA = '{"type": "array"}';

const server = await sharedServer();
let databaseName: string;
let view: Buffer;
let presenter: Buffer;
let change: Buffer;

beforeAll(async () => {
  databaseName = uniqueName();
  await server.client.send('createDatabase', { databaseName });
  view = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
  presenter = Buffer.from(await wat(SHOWING));
  change = Buffer.from(await wat(changeText(NO_EVENT)));
  await server.client.send('publishPresenter', PublishPresenterRequest.fromPartial(showing()), SLOW);
});

function showing(more: object = {}): object {
  const offers = [{ contentType: 'text/plain' }];
  return { databaseName, presenterName: 'showing', offers, wasmBytes: presenter, ...more };
}

async function overHttp(kind: string, metadata: object, bytes: Buffer): Promise<string> {
  const form = new FormData();
  const text = JSON.stringify(metadata).replace('"SCHEMA"', SCHEMA);
  form.append('metadata', text);
  form.append('wasm', new Blob([new Uint8Array(bytes)]));
  const answer = await fetch(`${server.http}/api/v1/db/${databaseName}/${kind}`, { method: 'POST', body: form });
  return answer.headers.get('location') ?? (await answer.text());
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
  it.each(VIEWS)('makes of %j the State View that HTTP makes of %j', async (sent, metadata) => {
    const stateViewName = uniqueName().replace('-', '.');
    const { QUERY_TEMPORALITY_EFFECTIVE_TIMESTAMP: queryTemporality } = QueryTemporality;
    const common = { databaseName, stateViewName, contentType: 'text/x', queryTemporality, wasmBytes: view };
    const request = PublishStateViewRequest.fromPartial({ ...common, ...sent });
    const first = await server.client.send('publishStateView', request, SLOW);
    const order = { content_type: 'text/x', query_temporality: 'effective_timestamp' };
    const again = await overHttp('state-views', { state_view_name: stateViewName, ...order, ...metadata }, view);
    expect([first.version, again]).toEqual([1, pageOf('state-views', stateViewName, 1)]);
    const other = await overHttp('state-views', { state_view_name: stateViewName, ...order, events: ['else'] }, view);
    expect(other).toBe(pageOf('state-views', stateViewName, 2));
  });

  it('makes of settings, and of the names of State Views, what HTTP makes of them', async () => {
    const settings = { currency: 'EUR', theme: 'dark' };
    const asked = PublishPresenterRequest.fromPartial(showing({ presenterName: 'set', settings }));
    await server.client.send('publishPresenter', asked, SLOW);
    const metadata = { presenter_name: 'set', content_types: ['text/plain'], settings };
    expect(await overHttp('presenters', metadata, presenter)).toBe(pageOf('presenters', 'set', 1));
    const changed = { databaseName, stateChangeName: 'reading', stateViewNames: ['b', 'a'], wasmBytes: change };
    await server.client.send('publishStateChange', PublishStateChangeRequest.fromPartial(changed), SLOW);
    const named = { state_change_name: 'reading', state_view_names: ['a', 'b'] };
    expect(await overHttp('state-changes', named, change)).toBe(pageOf('state-changes', 'reading', 1));
  });

  it('names every part of a definition that cannot be', async () => {
    const asked = PublishStateViewRequest.fromPartial({
      databaseName,
      stateViewName: 'bad',
      contentType: 'text/x',
      wasmBytes: view,
      eventTypes: ['t', ''],
      keyType: 9 as KeyType,
      priority: 8 as Priority,
      presenterVersion: 1,
      contentSchema: 'https://schemas.example/',
      contentSchemaJson: Buffer.from('[]'),
    });
    const both = await failureOf(server.client.send('publishStateView', asked, SLOW));
    expect([both.code, both.fields.toSorted()]).toEqual([
      'INVALID_ARGUMENT',
      ['event_types[1]', 'key_type', 'presenter_version', 'priority'],
    ]);
    const { contentSchema: _, ...rest } = asked;
    const sane = { ...rest, eventTypes: ['t'], keyType: 0, priority: 0, presenterVersion: undefined } as const;
    for (const schema of ['[]', '{', '"x"', '']) {
      const contentSchemaJson = Buffer.from(schema);
      const one = PublishStateViewRequest.fromPartial({ ...sane, contentSchemaJson });
      const refused = await failureOf(server.client.send('publishStateView', one, SLOW));
      expect([schema, refused.code, refused.fields]).toEqual([schema, 'INVALID_ARGUMENT', ['content_schema_json']]);
    }
    const twice = PublishStateViewRequest.fromPartial({ ...sane, contentSchema: 'https://schemas.example/' });
    const refused = await failureOf(server.client.send('publishStateView', twice, SLOW));
    expect(refused.fields).toEqual(['content_schema_json']);
  });
});

describe('SPEC-GRPC-VERSIONS', () => {
  it('deletes a version, or all of a name, of every kind', async () => {
    for (const name of ['gone', 'kept']) {
      for (const description of ['one', 'two']) {
        const asked = PublishPresenterRequest.fromPartial(showing({ presenterName: name, description }));
        await server.client.send('publishPresenter', asked, SLOW);
      }
    }
    const kind = ComponentKind.COMPONENT_KIND_PRESENTER;
    const remaining = async (name: string): Promise<number[]> =>
      (await server.client.send('listComponentVersions', { databaseName, kind, name })).versions.map(
        ({ version }) => version,
      );
    const one = await server.client.call('deleteComponent', { databaseName, kind, name: 'kept', version: 1 });
    expect(one.headers).toMatchObject({ 'x-database-id': expect.any(String), 'x-revision': '0' });
    expect(one.trailers).toMatchObject({ 'x-leader-node': expect.any(String) });
    await server.client.send('deleteComponent', { databaseName, kind, name: 'gone' });
    expect([await remaining('kept'), await remaining('gone')]).toEqual([[2], []]);
    for (const asked of [{ name: 'gone' }, { name: 'kept', version: 1 }, { name: 'kept', version: 9 }, { name: '!' }]) {
      const absent = await failureOf(server.client.send('deleteComponent', { databaseName, kind, ...asked }));
      expect([asked, absent.code, absent.info?.metadata['reason']]).toEqual([asked, 'NOT_FOUND', 'PresenterNotFound']);
    }
    const unsaid = await failureOf(server.client.send('deleteComponent', { databaseName, kind: 0, name: 'kept' }));
    expect([unsaid.code, unsaid.fields]).toEqual(['INVALID_ARGUMENT', ['kind']]);
  });

  it('expires what was folded, as HTTP does', async () => {
    const stateViewName = 'expiring';
    const asked = { databaseName, stateViewName, contentType: 'text/x', wasmBytes: view };
    await server.client.send('publishStateView', PublishStateViewRequest.fromPartial(asked), SLOW);
    expect(await server.client.send('expireSnapshots', { databaseName, stateViewName })).toEqual({ foldEpoch: 1 });
    const path = `/api/v1/db/${databaseName}/state-views/${stateViewName}/expire-snapshots`;
    const second = await fetch(`${server.http}${path}`, { method: 'POST' });
    expect(await second.json()).toEqual({ epoch: 2 });
    const none = await failureOf(server.client.send('expireSnapshots', { databaseName, stateViewName: 'none' }));
    expect([none.code, none.info?.metadata['reason']]).toEqual(['NOT_FOUND', 'StateViewNotFound']);
  });
});
