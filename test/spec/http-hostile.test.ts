// Random and nearly valid bodies and forms get no 5xx, and every error has the error body (TH1).
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { eventually } from '../support/eventually.ts';
import { sendForm, shownForm } from '../support/forms.ts';
import { counted, unsaid } from '../support/hostile-bodies.ts';
import {
  ALREADY_EXISTS,
  type Answer,
  cloudEvent,
  errorOf,
  FAILED_PRECONDITION,
  INVALID_ARGUMENT,
  jsonOf,
  NOT_FOUND,
  RESOURCE_EXHAUSTED,
  type Wanted,
} from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { runs } from '../support/runs.ts';

vi.setConfig({ testTimeout: 60_000 });

// Random revisions are mostly above the latest one, and a read of such a revision waits.
const { api } = await startHttpNode('--read-wait-ms=1');

const SUCCESSES = [200, 201, 202, 204, 307];
const FAILURES: readonly Wanted[] = [
  INVALID_ARGUMENT,
  NOT_FOUND,
  ALREADY_EXISTS,
  FAILED_PRECONDITION,
  RESOURCE_EXHAUSTED,
  { status: 403, code: 'PERMISSION_DENIED' },
];

function isCivil(answer: Answer): boolean {
  if (SUCCESSES.includes(answer.status)) return true;
  const { status, code } = errorOf(answer);
  if (FAILURES.some((known) => known.status === status && known.code === code)) return true;
  throw new Error(`an answer that nobody specified: ${status} ${answer.text}`);
}

async function expectHealthy(): Promise<void> {
  expect(jsonOf(await api.get('/health/detailed'))).toMatchObject({ status: 'ok' });
  const own = await api.created();
  expect(await api.commit(own, cloudEvent('a'))).toBe(1);
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 300 }),
  fc.constantFrom(...'|..|.|/|\0|%|__proto__|constructor|null|NaN|-0|1e99|\u{fffe}| '.split('|')),
);
function nearly(...right: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: fc.jsonValue() }, text);
}

const selector = nearly(
  { equals: { stream: 'orders' } },
  { stream: 'orders' },
  { or: [] },
  { and: [{}] },
  { noSubject: {} },
);
const event = fc.record(
  {
    id: nearly('a', 'c'),
    source: nearly('orders', '/db/x/streams/orders', 'https://x.example/a?b#c'),
    specversion: nearly('1.0'),
    type: nearly('t'),
    subject: nearly('s', ''),
    time: nearly('2024-01-01T00:00:00Z', '2024-13-01T00:00:00Z'),
    datacontenttype: nearly('application/json', 'text/plain'),
    data: fc.jsonValue(),
    data_base64: nearly('AAEC'),
    extension: nearly('x', 7, true),
  },
  { requiredKeys: ['id', 'source', 'specversion', 'type'] },
);
const condition = fc.oneof(
  fc.record({ min_revision: fc.record({ revision: nearly(0, 1), selector }, { requiredKeys: ['revision'] }) }),
  fc.record({ max: fc.record({ revision: nearly(0, 1), selector }) }),
  fc.record({ revision_range: fc.record({ start: nearly(0, 1), end: nearly(0, 1) }) }),
  fc.jsonValue(),
);
const transaction = fc.record(
  {
    events: fc.array(event, { maxLength: 4 }),
    conditions: fc.array(condition, { maxLength: 3 }),
    transaction_id: nearly('0193a1b2-c3d4-7e5f-8a9b-100000000000'),
    commit_message: nearly('x'),
    principal_attributes: nearly({ a: 'b' }),
  },
  { requiredKeys: ['events'] },
);
const body = fc.oneof(
  fc.oneof(transaction, fc.jsonValue(), event).map((value) => JSON.stringify(value)),
  fc.uint8Array({ maxLength: 200 }),
  text,
);
const contentType = fc.oneof(
  { weight: 6, arbitrary: fc.constant('application/json') },
  fc.constantFrom('application/cloudevents+json', 'application/cloudevents-batch+json', 'text/plain', 'a', ';'),
  fc.constantFrom('application/x-www-form-urlencoded', 'application/json; charset=x'),
  fc.string({ maxLength: 30 }).filter((value) => /^[ -~]*$/.test(value)),
);

const FIELD_NAMES = ['database_name', 'events', 'conditions', 'transaction_id', 'body', 'method', 'path', 'x-batch-id'];

const WRITES = ROUTES.filter(({ method, isRead = false }) => method !== 'GET' && !isRead);

/** Valid transactions, some with one other member. Random bodies alone would never commit anything. */
const oneMember = fc.tuple(fc.constantFrom('events', 'conditions', 'commit_message', 'x'), fc.jsonValue());
const nearlyRight = fc
  .tuple(fc.constantFrom('a', 'b'), fc.option(oneMember, { freq: 1 }))
  .map(([id, other]) => ({ events: [cloudEvent(id)], ...(other && { [other[0]]: other[1] }) }));
const written = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(body, contentType) },
  { weight: 1, arbitrary: nearlyRight.map((value) => [JSON.stringify(value), 'application/json'] as const) },
);
const TRANSACTING = WRITES.filter(({ path: each }) => /\{database\}(\/events|\/async)?$/.test(each));

const isCreation = (route: string): boolean => ['/api/v1/db', '/databases'].includes(route);

type State = ReturnType<typeof counted> & Readonly<Record<'databases' | 'components', readonly string[]>>;

async function stateOf(database: string): Promise<State> {
  const paths = ['', '/state-views', '/state-changes'].map((rest) => `/databases/${database}${rest}`);
  const [own, ...components] = await Promise.all(paths.map((each) => api.get(each)));
  if (own === undefined) throw new Error('nobody answered');
  const { databases } = jsonOf(await api.get('/databases')) as { databases: readonly { database_id: string }[] };
  const ids = databases.map(({ database_id: id }) => id);
  return { ...counted(own), databases: ids, components: components.map(({ text: list }) => list) };
}

const isSuccess = ({ status }: Answer): boolean => status < 300;

function wronglyRefused(before: State, after: State, unsaidOfIt: string | undefined): string | undefined {
  if (!isDeepStrictEqual(before, after)) return 'something was changed';
  return unsaidOfIt && `it does not say ${unsaidOfIt}`;
}

/** A success must not publish or delete anything here, and commits at most one transaction. */
function wronglyDone(before: State, after: State, { mayCreate }: { mayCreate: boolean }): string | undefined {
  const committed = after.latest_revision - before.latest_revision;
  if (committed < 0 || committed > 1) return 'it is not one transaction';
  if (!isDeepStrictEqual(before.components, after.components)) return 'components were changed';
  return mayCreate || isDeepStrictEqual(before.databases, after.databases) ? undefined : 'databases were changed';
}

async function decided(accepted: Answer): Promise<void> {
  const place = accepted.headers.get('location') ?? '';
  await eventually(async () => expect((await api.get(place)).status).not.toBe(404));
}

describe('SPEC-HTTP-ERRORS: hostile requests', () => {
  it('with random bodies are refused with the fault on every writing route, and change nothing', async () => {
    const own = await api.created();
    const met = new Set<string>();
    let committed = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...WRITES, ...TRANSACTING), written, async (route, [content, type]) => {
        met.add(`${route.method} ${route.path}`);
        const names = [route.method === 'DELETE' ? 'nobody' : own, 'absent'];
        const named = route.path.replace('{database}', names[0] ?? '').replace('{revision}', 'latest');
        const target = named.replace('{version}', '1').replaceAll(/\{\w+\}/g, 'absent');
        const before = await stateOf(own);
        const sent = { method: route.method, body: content, headers: { 'content-type': type } };
        const answer = await api.send(target, sent);
        if (answer.status === 202) await decided(answer);
        const after = await stateOf(own);
        const wrong = isSuccess(answer)
          ? wronglyDone(before, after, { mayCreate: isCreation(route.path) })
          : wronglyRefused(before, after, unsaid(answer, { content, type, names }));
        expect([isCivil(answer), wrong, answer.text]).toEqual([true, undefined, answer.text]);
        committed += after.latest_revision - before.latest_revision;
      }),
      { numRuns: runs(600) },
    );
    expect(committed).toBeGreaterThan(10);
    expect([...met].toSorted()).toEqual(WRITES.map(({ method, path: each }) => `${method} ${each}`).toSorted());
    await expectHealthy();
  });

  it('with random forms are answered by a page, and change nothing without a redirect to the result', async () => {
    const own = await api.created();
    const offered = ROUTES.filter(({ offered: each }) => each !== undefined);
    const value = fc.oneof(
      text,
      transaction.map((each) => JSON.stringify(each.events)),
      fc.constant(own),
    );
    const fieldName = fc.oneof(fc.constantFrom(...FIELD_NAMES), text);
    const fields = fc
      .array(fc.tuple(fieldName, value), { maxLength: 6 })
      .map((pairs) =>
        pairs.map((pair) => pair.map((each) => encodeURIComponent(each.toWellFormed())).join('=')).join('&'),
      );
    const sent = fc.oneof({ weight: 4, arbitrary: fields }, { weight: 1, arbitrary: fc.oneof(text, fc.uint8Array()) });
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...offered), sent, async (route, content) => {
        const named = route.path.replace('{database}', own).replace('{revision}', 'latest');
        const target = named.replace('{version}', '1').replaceAll(/\{\w+\}/g, 'absent');
        const before = await stateOf(own);
        const answer = await sendForm(api, target, content);
        seen.add(answer.status);
        if (answer.status === 303) return;
        expect(await stateOf(own)).toEqual(before);
        const isInParts = /\/(?:state-views|state-changes|presenters)$/.test(route.path);
        const said = isInParts ? errorOf(answer, INVALID_ARGUMENT).message : shownForm(answer).title;
        expect([200, 400, 404, 409]).toContain(answer.status);
        expect(said).not.toBe('');
      }),
      { numRuns: runs(400) },
    );
    expect([200, 400, 404].filter((status) => !seen.has(status))).toEqual([]);
    await expectHealthy();
  });
});
