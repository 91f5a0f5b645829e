// Components over HTTP can be published, listed and rendered in every route family, with tags (ETags) and schemas.
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { hashingView } from '../support/components/views.ts';
import { type Answer, cloudEvent, errorOf, jsonOf } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const BY_ACCOUNT = { type: 'equals', attr: { subject: { parameter: 'account' } } };
const A = 'subject.account=a';

const { api } = await sharedHttpNode();
let wasm: Buffer;

beforeAll(async () => {
  wasm = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
});

/** Creates a database in which the account `a` has two events in revision 1 and one in revision 2. */
async function bank(): Promise<string> {
  const name = await api.created();
  for (const ids of [['1', '2'], ['3']]) await transact(name, ids);
  return name;
}

async function transact(database: string, ids: readonly string[]): Promise<void> {
  await api.commit(database, ...ids.map((id) => cloudEvent(id, { type: 't', source: 'accounts', subject: 'a' })));
}

function metadata(more: object = {}): object {
  return {
    state_view_name: 'balances',
    content_type: 'application/x-count',
    event_selector: BY_ACCOUNT,
    query_temporality: 'revision',
    ...more,
  };
}

function publish(database: string, more: object = {}, bytes: Buffer = wasm): Promise<Answer> {
  return api.publish(`${database}/state-views`, metadata(more), bytes);
}

const json = async (path: string): Promise<unknown> => jsonOf(await api.get(path));

/** The number of counted events, and the parameters that the component received. */
async function stateOf(path: string): Promise<{ readonly count: number; readonly parameters: string }> {
  const bytes = Buffer.from(await (await fetch(`${api.address}${path}`)).arrayBuffer());
  // The parameters begin at the last `{`; the hash before them may contain this byte, too.
  const from = bytes.lastIndexOf('{');
  return { count: from === 0 ? 0 : bytes.readUInt32LE(0), parameters: bytes.subarray(from).toString() };
}

function faultOf(answer: Answer): unknown {
  const { status, code, details } = errorOf(answer);
  return [status, code, details?.reason, details?.field];
}

describe('SPEC-HTTP-PUBLISH', () => {
  it('answers 201 with the version and the path of its page', async () => {
    const database = await bank();
    const response = await publish(database, { description: 'first' });
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toBe(`/db/${database}/state-views/balances/v1`);
    expect(response.headers.get('x-revision')).toBe('2');
    const expected = {
      kind: 'state-view',
      name: 'balances',
      version: 1,
      description: 'first',
      content_type: 'application/x-count',
      query_temporality: 'revision',
      key_type: 'None',
      reduce_fn: 'reduce',
      priority: 'normal',
      parameters: ['subject.account'],
      wasm_bytes: wasm.length,
      published_at_revision: 2,
      active: true,
      maintenance_mode: 'lazy',
      fold_epoch: 0,
    };
    expect(jsonOf(response)).toMatchObject(expected);
    expect(await json(`/db/${database}/state-views/balances/v1`)).toMatchObject(expected);
    const again = await publish(database, { description: 'first' });
    expect([again.status, again.headers.get('location')]).toEqual([201, `/db/${database}/state-views/balances/v1`]);
  });

  it('names faults of the body, its parts, the metadata and the component', async () => {
    const database = await bank();
    const path = `/api/v1/db/${database}/state-views`;
    const bad = [400, 'INVALID_ARGUMENT', 'invalid_argument'];
    const only = '--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n--x--\r\n';
    const multipart = 'multipart/form-data; boundary=x';
    for (const [type, body, field] of [
      ['application/json', '{}', 'Content-Type'],
      ['multipart/form-data', 'x', 'Content-Type'],
      [multipart, 'x', 'body'],
      [multipart, only, 'wasm'],
      [multipart, only.replace('metadata', 'other'), 'metadata'],
      [multipart, only.slice(0, -8), 'body'],
    ] as const) {
      const headers = { 'content-type': type };
      expect(faultOf(await api.post(path, body, headers))).toEqual([...bad, field]);
    }
    const headers = { 'content-type': multipart, 'content-encoding': 'gzip' };
    const compressed = await api.send(path, { method: 'POST', headers, body: gzipSync(only) });
    expect(faultOf(compressed)).toEqual([...bad, 'Content-Encoding']);
    const long = await publish(database, { description: 'x'.repeat(524_288) });
    expect(faultOf(long)).toEqual([...bad, 'metadata']);
    expect(faultOf(await publish(database, { content_type: 'no' }))).toEqual([...bad, 'metadata.content_type']);
    const noComponent = await publish(database, {}, Buffer.from('not a component'));
    expect(faultOf(noComponent)).toEqual([400, 'INVALID_ARGUMENT', 'InvalidComponent', 'wasm']);
    expect(faultOf(await publish('no-such-database'))).toEqual([404, 'NOT_FOUND', 'DatabaseNotFound', undefined]);
  });
});

describe('SPEC-HTTP-COMPONENT-LISTINGS', () => {
  it('list components at a revision and by name, and are empty without any', async () => {
    const database = await bank();
    await publish(database, { description: 'first' });
    await transact(database, ['4']);
    await publish(database, { description: 'second' });
    const listed = (version: number): object => ({ name: 'balances', version, active: true });
    const at = (revision: number): Promise<unknown> => json(`/db/${database}/${revision}/state-views`);
    expect(await at(1)).toMatchObject({ database, revision: 1, state_views: [] });
    expect(await at(2)).toMatchObject({ state_views: [listed(1)] });
    expect(await at(3)).toMatchObject({ state_views: [listed(1), listed(2)] });
    const moved = await api.get(`/db/${database}/latest/state-views`);
    expect([moved.status, moved.headers.get('location')]).toEqual([307, `/db/${database}/3/state-views`]);
    const shown = { name: 'balances', description: 'second', content_type: 'application/x-count' };
    expect(await json(`/databases/${database}/state-views`)).toEqual({
      state_views: [{ ...shown, priority: 'normal', parameterized: true }],
    });
    expect(await json(`/databases/${database}`)).toMatchObject({ state_views: ['balances'], state_changes: [] });
    expect(await json(`/api/v1/db/${database}/state-changes`)).toEqual([]);
    expect(await json(`/api/v1/db/${database}/presenters`)).toEqual([]);
    expect((await api.get(`/api/v1/db/${database}/state-views`)).status).toBe(404);
    expect((await api.get(`/db/${database}/state-views/balances/v3`)).status).toBe(404);
    expect((await api.get(`/api/v1/db/${database}/presenters/none/v1`)).status).toBe(404);
  });

  it('give the bytes of a schema of a definition', async () => {
    const database = await bank();
    const schema = '{"type":"object",  "minimum": 1e400}';
    const text = JSON.stringify(metadata({ content_schema: 'SCHEMA' })).replace('"SCHEMA"', schema);
    await api.publish(`${database}/state-views`, text, wasm);
    const path = `/api/v1/db/${database}/state-views/balances/v1/schema`;
    expect((await api.get(path)).text).toBe(schema);
    const rendered = await api.get(`/api/v1/db/${database}/2/state-views/balances/v1?${A}`);
    expect(rendered.headers.get('link')).toBe(`<${path}>; rel="describedby"`);
    await publish(database, { content_schema: 'https://schemas.example/a.json' });
    const linked = await api.get(path.replace('v1/schema', 'v2/schema'));
    expect(faultOf(linked)).toEqual([404, 'NOT_FOUND', 'SchemaNotFound', undefined]);
  });
});

describe('SPEC-HTTP-R5', () => {
  it('renders at a revision with parameters, in every family', async () => {
    const database = await bank();
    await publish(database);
    const parameters = '{"subject.account":"a"}';
    const place = `/api/v1/db/${database}/2/state-views/balances/v1?${A}`;
    const at = await api.get(place);
    const told = [at.status, at.headers.get('content-type'), at.headers.get('x-revision')];
    expect(told).toEqual([200, 'application/x-count', '2']);
    expect(at.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'; /);
    expect(at.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await stateOf(place)).toEqual({ count: 3, parameters });
    await transact(database, ['4']);
    const paths = [
      [`/databases/${database}/state-views/balances?${A}`, 4],
      [`/databases/${database}/state-views/balances?revision=2&${A}`, 3],
      [`/databases/${database}/state-views/balances?revision=latest&${A}`, 4],
      [`/api/v1/databases/${database}/state-views/balances/versions/1?${A}`, 4],
    ] as const;
    for (const [path, count] of paths) expect([path, await stateOf(path)]).toEqual([path, { count, parameters }]);
    for (const word of ['latest', 'cached']) {
      const moved = await api.get(`/api/v1/db/${database}/${word}/state-views/balances/v1?${A}`);
      expect([moved.status, moved.headers.get('cache-control')]).toEqual([307, 'no-store']);
      expect(moved.headers.get('location')).toBe(`/api/v1/db/${database}/3/state-views/balances/v1?${A}`);
    }
  });

  it('names faults of the parameters, the version and the revision', async () => {
    const database = await bank();
    await publish(database);
    const path = `/api/v1/db/${database}/2/state-views/balances`;
    const bad = [400, 'INVALID_ARGUMENT'];
    const none = [404, 'NOT_FOUND'];
    for (const [asked, fault] of [
      [`${path}/v1`, [...bad, 'InvalidParameters', 'query["subject.account"]']],
      [`${path}/v1?${A}&stream.s=x`, [...bad, 'InvalidParameters', 'query["stream.s"]']],
      [`${path}/v1?${A}&page=2`, [...bad, 'InvalidParameters', 'page']],
      [`${path}/vx?${A}`, [...bad, 'invalid_argument', 'version']],
      [`${path}/v2?${A}`, [...none, 'StateViewNotFound', undefined]],
      [`${path.replace('/2/', '/9/')}/v1?${A}`, [...none, 'RevisionNotFound', undefined]],
    ] as const) {
      expect([asked, faultOf(await api.get(asked))]).toEqual([asked, fault]);
    }
  });

  it('applies a cut, which is required, to a view in the order of effective time, and to no other', async () => {
    const database = await bank();
    const byTime = { state_view_name: 'stock', query_temporality: 'effective_timestamp', event_selector: undefined };
    await publish(database, { ...byTime, events: ['t'] });
    await publish(database);
    const path = `/api/v1/db/${database}/2/state-views/stock/v1`;
    const uncut = await api.get(path);
    expect(faultOf(uncut)).toEqual([400, 'INVALID_ARGUMENT', 'InvalidParameters', 'effective_time_end_at']);
    const malformed = await api.get(`${path}?effective_time_end_at=yesterday`);
    expect(faultOf(malformed)).toEqual([400, 'INVALID_ARGUMENT', 'invalid_argument', 'effective_time_end_at']);
    const cut = `${path}?effective_time_end_at=2001-01-01T00:00:00Z`;
    expect((await stateOf(cut)).count).toBe(0);
    const early = await api.get(cut);
    expect(early.headers.get('x-effective-time-end-at')).toBe('2001-01-01T00:00:00Z');
    const now = await api.get(`${path}?effective_time_end_at=now`);
    expect([now.status, now.headers.get('cache-control')]).toEqual([307, 'no-store']);
    expect((await stateOf(now.headers.get('location') ?? '')).count).toBe(3);
    const other = await api.get(`/api/v1/db/${database}/2/state-views/balances/v1?${A}&effective_time_end_at=now`);
    expect([other.status, other.headers.get('x-effective-time-end-at')]).toEqual([200, null]);
  });
});

it('SPEC-HTTP-R6 gives a weak tag, answers 304 for it, and is private for requests with a credential', async () => {
  const database = await bank();
  await publish(database);
  const path = `/api/v1/db/${database}/2/state-views/balances/v1?${A}`;
  const first = await api.get(path);
  const tag = first.headers.get('etag') ?? '';
  expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
  expect([first.headers.get('cache-control'), first.headers.get('vary')]).toEqual(['public, max-age=60', null]);
  for (const held of [tag, `"other", ${tag}`, tag.slice(2), '*']) {
    const again = await api.get(path, { 'if-none-match': held });
    expect([held, again.status, again.headers.get('etag'), again.text]).toEqual([held, 304, tag, '']);
  }
  const nothing = await api.get(path.replace('=a', '=nobody'), { 'if-none-match': '*' });
  expect([nothing.status, (await api.get(path, { 'if-none-match': '"other"' })).status]).toEqual([200, 200]);
  for (const name of ['authorization', 'cookie', 'x-api-key']) {
    const { headers } = await api.get(path, { [name]: 'x' });
    const told = [headers.get('cache-control'), headers.get('vary')];
    expect(told).toEqual(['private, max-age=60', 'Authorization, Cookie, X-API-Key']);
  }
  expect((await api.get(path.replace('v1?', 'v7?'))).headers.get('cache-control')).toBeNull();
});
