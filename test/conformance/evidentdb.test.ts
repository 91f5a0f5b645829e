// Goal: the behaviour that users of EvidentDB know holds on Cairn, where the two do not differ on purpose.
// Method: its cases as a table, over gRPC and over HTTP. EvidentDB numbers events, Cairn transactions; each event is
// written in a transaction of its own, so that the numbers coincide.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api, TestConstraint, TestSelector } from '../support/api/api.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { HttpApi } from '../support/api/http-api.ts';
import { anEvent, FIRST, newDatabase, SECOND, THIRD, threeEvents } from '../support/evidentdb.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const ALL: TestSelector = {};
const MY_STREAM: TestSelector = { stream: 'my-stream' };
const SUBJECT_2: TestSelector = { subject: 'another nice subject' };
const BOTH: TestSelector = { stream: 'my-stream', subject: 'another nice subject' };

/**
 * Twelve constraints that revision 3 violates: database, stream, subject, subject on a stream; each min, max, range.
 */
const VIOLATED: readonly (readonly [string, TestConstraint])[] = [
  ['database min', { kind: 'min', revision: 4, selector: ALL }],
  ['database max', { kind: 'max', revision: 2, selector: ALL }],
  ['database range', { kind: 'range', start: 1, end: 2, selector: ALL }],
  ['stream min', { kind: 'min', revision: 1, selector: { stream: 'nope' } }],
  ['stream max', { kind: 'max', revision: 0, selector: MY_STREAM }],
  ['stream range', { kind: 'range', start: 1, end: 1, selector: MY_STREAM }],
  ['subject min', { kind: 'min', revision: 1, selector: { subject: 'solid nope' } }],
  ['subject max', { kind: 'max', revision: 0, selector: SUBJECT_2 }],
  ['subject range', { kind: 'range', start: 2, end: 2, selector: SUBJECT_2 }],
  ['subject on stream min', { kind: 'min', revision: 1, selector: { stream: 'my-stream', subject: 'solid nope' } }],
  ['subject on stream max', { kind: 'max', revision: 0, selector: BOTH }],
  ['subject on stream range', { kind: 'range', start: 1, end: 1, selector: BOTH }],
];

const HELD: readonly TestConstraint[] = [
  { kind: 'min', revision: 3, selector: ALL },
  { kind: 'max', revision: 3 },
  // Without a selector it is about the revisions of the database: 1 and 2 are there.
  { kind: 'range', start: 1, end: 2 },
  { kind: 'range', start: 2, end: 2, selector: MY_STREAM },
  { kind: 'max', revision: 0, selector: { subject: 'solid nope' } },
  { kind: 'min', revision: 2, selector: BOTH },
];

/** Which revisions each index of EvidentDB gives. */
const INDEXES: readonly (readonly [TestSelector, readonly number[]])[] = [
  [MY_STREAM, [1, 2]],
  [{ stream: 'my-other-stream' }, [3]],
  [{ subject: 'a nice subject' }, [1]],
  [SUBJECT_2, [2, 3]],
  [{ stream: 'my-stream', subject: 'a nice subject' }, [1]],
  [BOTH, [2]],
  [{ stream: 'my-other-stream', subject: 'a nice subject' }, []],
  [{ stream: 'my-other-stream', subject: 'another nice subject' }, [3]],
  [{ type: 'type1' }, [1]],
  [{ type: 'type2' }, [2, 3]],
];

const APIS: readonly [string, () => Api][] = [
  ['gRPC', () => new GrpcApi(server.grpc)],
  ['HTTP', () => new HttpApi(server.http)],
];

describe.each(APIS)('over %s', (_name, connect) => {
  it('a database is created once, at revision 0, and the catalog lists it', async () => {
    await using api = connect();
    const database = 'evident-created';
    await api.deleteDatabase(database);
    expect(await api.createDatabase(database)).toEqual({ kind: 'created' });
    expect(await api.revision(database)).toEqual({ kind: 'at', revision: 0 });
    expect(await api.listDatabases()).toContain(database);
    expect(await api.createDatabase(database)).toMatchObject({ kind: 'refused', code: 'ALREADY_EXISTS' });
    expect(await api.createDatabase('')).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
  });

  it('a batch of three events is one revision, and its positions follow', async () => {
    await using api = connect();
    const database = await newDatabase(api);
    const written = await api.transact(database, { events: [FIRST, SECOND, THIRD] });
    expect(written).toMatchObject({ kind: 'committed', revision: 1 });
    const events = await api.query(database, { selectors: [] });
    expect(events.map(({ revision, index }) => [revision, index])).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
    ]);
    expect(events.map(({ id }) => id)).toEqual(['1an+id@foo.com', '2an+id@foo.com', '1an+id@foo.com']);
  });

  it('each index finds its events', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    for (const [selector, revisions] of INDEXES) {
      const events = await api.query(database, { selectors: [selector] });
      expect(events.map(({ revision }) => revision)).toEqual(revisions);
      const reversed = await api.query(database, { selectors: [selector], reverse: true });
      expect(reversed.map(({ revision }) => revision)).toEqual(revisions.toReversed());
    }
  });

  it('an event id that is taken on its stream is stored under another, and the reply says which', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const again = await api.transact(database, { events: [FIRST] });
    expect(again).toEqual({ kind: 'committed', revision: 4, ids: [['1an+id@foo.com', '1an+id@foo.com~4.0']] });
  });

  it.each(VIOLATED)('at revision 3 the constraint %s is violated', async (_what, constraint) => {
    await using api = connect();
    const database = await threeEvents(api);
    const refused = await api.transact(database, { events: [{ ...FIRST, id: 'new' }], constraints: [constraint] });
    expect(refused).toMatchObject({ kind: 'refused', code: 'FAILED_PRECONDITION', violated: [0] });
    expect(await api.revision(database)).toEqual({ kind: 'at', revision: 3 });
  });

  it('all twelve at once are reported, each by its place, and nothing is written', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const constraints = [...HELD, ...VIOLATED.map(([, constraint]) => constraint)];
    const refused = await api.transact(database, { events: [{ ...FIRST, id: 'new' }], constraints });
    const expected = VIOLATED.map((_, i) => HELD.length + i);
    expect(refused).toMatchObject({ kind: 'refused', code: 'FAILED_PRECONDITION', violated: expected });
    expect(await api.query(database, { selectors: [] })).toHaveLength(3);
  });

  it('constraints that hold let the events in', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const events = ['a', 'b', 'c', 'd'].map((id) => anEvent(id, 'new-stream', { type: 'type3' }));
    expect(await api.transact(database, { events, constraints: HELD })).toMatchObject({
      kind: 'committed',
      revision: 4,
    });
    expect(await api.query(database, { selectors: [{ stream: 'new-stream' }] })).toHaveLength(4);
  });

  it('a constraint whose start is above its end is invalid; several of one kind are all required', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const crossed = await api.transact(database, {
      events: [FIRST],
      constraints: [{ kind: 'range', start: 2, end: 1 }],
    });
    expect(crossed).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
    const twice = await api.transact(database, {
      events: [FIRST],
      constraints: [
        { kind: 'min', revision: 1, selector: ALL },
        { kind: 'min', revision: 9, selector: ALL },
      ],
    });
    expect(twice).toMatchObject({ kind: 'refused', code: 'FAILED_PRECONDITION', violated: [1] });
    const more = await api.transact(database, {
      events: [FIRST],
      constraints: [
        { kind: 'max', revision: 0, selector: MY_STREAM },
        { kind: 'max', revision: 2, selector: MY_STREAM },
        { kind: 'range', start: 2, end: 2, selector: MY_STREAM },
        { kind: 'range', start: 1, end: 1, selector: MY_STREAM },
      ],
    });
    expect(more).toMatchObject({ kind: 'refused', code: 'FAILED_PRECONDITION', violated: [0, 3] });
  });

  it('a transaction without events, and one for a database that is not there, are refused', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    expect(await api.transact(database, { events: [] })).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
    const nowhere = await api.transact('not-there', { events: [FIRST] });
    expect(nowhere).toMatchObject({ kind: 'refused', code: 'NOT_FOUND' });
  });

  it('two malformed events are both reported, in order, and nothing is written', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const refused = await api.transact(database, {
      events: [
        { ...FIRST, id: '' },
        { ...SECOND, id: 'fine' },
        { ...THIRD, subject: '' },
      ],
    });
    expect(refused).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
    const fields = refused.kind === 'refused' ? refused.fields : [];
    expect(fields).toHaveLength(2);
    expect(fields[0]).toContain('events[0]');
    expect(fields[1]).toContain('events[2]');
    expect(await api.revision(database)).toEqual({ kind: 'at', revision: 3 });
  });

  it('a deleted database is gone from the catalog and from every read', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    expect(await api.deleteDatabase(database)).toEqual({ kind: 'deleted' });
    expect(await api.listDatabases()).not.toContain(database);
    expect(await api.revision(database)).toMatchObject({ kind: 'refused', code: 'NOT_FOUND' });
    expect(await api.transact(database, { events: [FIRST] })).toMatchObject({ kind: 'refused', code: 'NOT_FOUND' });
    expect(await api.deleteDatabase(database)).toMatchObject({ kind: 'refused', code: 'NOT_FOUND' });
  });

  it('a repeated transaction id is answered with its first result, whatever it carries', async () => {
    await using api = connect();
    const database = await threeEvents(api);
    const transactionId = '0192f0c1-2345-7890-abcd-0123456789ab';
    const first = await api.transact(database, { events: [{ ...FIRST, id: 'once' }], transactionId });
    const second = await api.transact(database, { events: [{ ...SECOND, id: 'other' }], transactionId });
    expect(first).toMatchObject({ kind: 'committed', revision: 4, ids: [['once', 'once']] });
    expect(second).toEqual(first);
    expect(await api.revision(database)).toEqual({ kind: 'at', revision: 4 });
  });
});
