// Goal: streams, subjects and event types, and the events of one of them, are listed as the specification says.
// Method: a real node with one database of five transactions.
import { describe, expect, it } from 'vitest';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, NOT_FOUND, uniqueName } from '../support/http-client.ts';
import { createHistory, type EventPage, IN_ORDER, idsOf } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const name = uniqueName();

await createHistory(api, name);

describe('SPEC-HTTP-SINGLE-STREAM, SUBJECT and EVENT-TYPE', () => {
  it.each([
    ['streams/carts', { stream: 'carts' }, ['2.0', '4.0']],
    ['subjects/ada', { subject: 'ada' }, ['1.0', '3.0']],
    ['subjects/ada%20lovelace%2F1', { subject: 'ada lovelace/1' }, ['4.0']],
    ['event-types/order.placed', { event_type: 'order.placed' }, ['1.0', '1.1']],
    ['streams/orders?direction=reverse&limit=2', { stream: 'orders', has_more: true }, ['5.4', '5.3']],
  ])('%s has its events', async (path, members, expected) => {
    const answer = await api.get(`/db/${name}/5/${path}`);
    expect(jsonOf(answer)).toMatchObject({ database: name, revision: 5, ...members });
    expect(idsOf(answer)).toEqual(expected);
  });

  it('pages by links', async () => {
    const first = jsonOf(await api.get(`/db/${name}/5/streams/orders?limit=6`)) as EventPage;
    const second = jsonOf(await api.get(first.next ?? '')) as EventPage;
    expect([...first.events, ...second.events].map(({ id }) => id)).toEqual(
      IN_ORDER.filter((id) => !['2.0', '4.0'].includes(id)),
    );
    expect(second).toMatchObject({ has_more: false });
  });

  it('has nothing behind its last event, also at an earlier revision', async () => {
    const { next } = jsonOf(await api.get(`/db/${name}/5/streams/carts?limit=1`)) as EventPage;
    expect(idsOf(await api.get(next ?? ''))).toEqual(['4.0']);
    expect(jsonOf(await api.get(next?.replace('/5/', '/2/') ?? ''))).toMatchObject({ events: [], has_more: false });
  });

  it.each(['streams/orders', 'subjects/s', 'event-types/order.placed', 'events'])(
    'refuses the cursor of a database that was re-created: %s (TH8)',
    async (list) => {
      const own = uniqueName();
      await api.create(own);
      const two = [cloudEvent('a', { subject: 's' }), cloudEvent('b', { subject: 's' })];
      await api.commit(own, ...two);
      const { next = '' } = jsonOf(await api.get(`/db/${own}/1/${list}?limit=1`)) as EventPage;
      expect(idsOf(await api.get(next))).toEqual(['b']);
      await api.delete(`/databases/${own}`);
      await api.create(own);
      await api.commit(own, ...two);
      const { message } = errorOf(await api.get(next), NOT_FOUND);
      expect(message).toContain('The cursor is not of the database that is now called');
    },
  );

  it.each([
    ['streams/none', 'StreamNotFound'],
    ['subjects/none', 'SubjectNotFound'],
    ['event-types/none', 'EventTypeNotFound'],
    ['streams/order', 'StreamNotFound'],
  ])('%s has none: 404, %s', async (path, reason) => {
    expect(errorOf(await api.get(`/db/${name}/5/${path}`), NOT_FOUND).details?.reason).toBe(reason);
  });

  it('is not there before its first event', async () => {
    expect(errorOf(await api.get(`/db/${name}/1/streams/carts`))).toMatchObject(NOT_FOUND);
    expect(idsOf(await api.get(`/db/${name}/2/streams/carts`))).toEqual(['2.0']);
  });

  it.each([
    'streams/%00',
    `subjects/${'s'.repeat(256)}`,
    'streams/%20',
    'streams/a?direction=up',
    'streams/orders?after=1',
  ])('%s is malformed: 400', async (path) => {
    expect(errorOf(await api.get(`/db/${name}/5/${path}`))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-LISTINGS: streams, subjects and event types at a revision', () => {
  interface Listing {
    readonly streams?: readonly Named[];
    readonly subjects?: readonly Named[];
    readonly event_types?: readonly Named[];
    readonly has_more: boolean;
    readonly next?: string;
  }
  interface Named {
    readonly name: string;
    readonly first_revision: number;
  }

  it('name what had an event by then, in order', async () => {
    const streams = await api.get(`/db/${name}/5/streams`);
    expect(jsonOf(streams)).toEqual({
      database: name,
      revision: 5,
      streams: [
        { name: 'carts', first_revision: 2 },
        { name: 'orders', first_revision: 1 },
      ],
      has_more: false,
    });
    expect(streams.headers.get('x-revision')).toBe('5');
    expect((jsonOf(await api.get(`/db/${name}/1/streams`)) as Listing).streams).toEqual([
      { name: 'orders', first_revision: 1 },
    ]);
    expect((jsonOf(await api.get(`/db/${name}/0/streams`)) as Listing).streams).toEqual([]);
    const subjects = (jsonOf(await api.get(`/db/${name}/5/subjects`)) as Listing).subjects;
    expect(subjects?.map((entry) => entry.name)).toEqual(['ada', 'ada lovelace/1', 'bob']);
    const types = (jsonOf(await api.get(`/db/${name}/3/event-types`)) as Listing).event_types;
    expect(types?.map((entry) => entry.name)).toEqual(['cart.filled', 'order.paid', 'order.placed']);
  });

  it('are cut by prefix, and paged by links', async () => {
    const prefixed = jsonOf(await api.get(`/db/${name}/5/event-types?prefix=order.&limit=2`)) as Listing;
    expect(prefixed.event_types?.map((entry) => entry.name)).toEqual(['order.paid', 'order.placed']);
    expect(prefixed.has_more).toBe(true);
    const rest = jsonOf(await api.get(prefixed.next ?? '')) as Listing;
    expect(rest.event_types?.map((entry) => entry.name)).toEqual(['order.shipped']);
    expect(rest).toMatchObject({ has_more: false });
  });

  it.each(['limit=0', 'limit=1001', 'prefix=%00', `prefix=${'p'.repeat(256)}`, 'after=%00'])(
    'answer 400 to ?%s',
    async (parameters) => {
      expect(errorOf(await api.get(`/db/${name}/5/streams?${parameters}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );

  it('answer 404 beyond the revision', async () => {
    expect(errorOf(await api.get(`/db/${name}/6/streams`))).toMatchObject(NOT_FOUND);
  });
});
