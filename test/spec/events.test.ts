// Both interfaces refuse malformed events and selectors and name the fault. Recorded times never decrease.
import { describe, expect, it } from 'vitest';
import { EventQuery, type EventSelector } from '../../proto/gen/cairn/v1/event.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, q } from '../support/http-client.ts';
import type { EventPage } from '../support/http-history.ts';
import { startHttpWorld } from '../support/http-world.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;

type Parts = Parameters<typeof EventSelector.fromPartial>[0];

const REQUIRED = [
  ['id', 'id', 'id'],
  ['source', 'source', 'source'],
  ['specversion', 'specVersion', 'spec_version'],
  ['type', 'ty', 'ty'],
] as const;

/**
 * Expects that both interfaces refuse this value, name only this attribute, and store nothing. Returns the
 * description of HTTP.
 */
async function refusal([attribute, key, path]: readonly string[], value: string | undefined): Promise<string> {
  const name = await api.created();
  const events = [cloudEvent('a', { [attribute ?? '']: value })];
  const { details } = errorOf(await api.post(`/api/v1/db/${name}`, { events }), INVALID_ARGUMENT);
  const sent = transaction(name, [event({ [key ?? '']: value ?? '' })]);
  const { fields } = await failureOf(client.call('transact', sent));
  const violations = details?.violations ?? [];
  expect(violations.map(({ field }) => field)).toEqual([`events[0].${attribute}`]);
  expect([fields, await api.latestRevision(name)]).toEqual([[`transaction.events[0].${path}`], 0]);
  return violations[0]?.description ?? '';
}

describe('SPEC-EVENT-REQUIRED', () => {
  it.each(REQUIRED)('%s is required', async (...attribute) => {
    expect(await refusal(attribute, undefined)).not.toBe('');
    expect(await refusal(attribute, '')).not.toBe('');
  });

  it('specversion is 1.0', async () => {
    expect(await refusal(REQUIRED[2], '1.1')).toContain('1.0');
  });
});

it('SPEC-EVENT-POSITION is assigned by the server: an event with a position is refused', async () => {
  for (const attribute of ['revision', 'index', 'recordedtime']) {
    const name = await api.created();
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { [attribute]: 1 })] });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toContain(attribute);
  }
});

it.each([REQUIRED[0], REQUIRED[3], ['subject', 'subject', 'subject']])(
  'SPEC-EVENT-TEXT %s is 1 to 255 bytes of text that is not blank',
  async (...attribute) => {
    const name = await api.created();
    expect(await api.commit(name, cloudEvent('e', { [attribute[0]]: '÷'.repeat(127) }))).toBe(1);
    for (const text of ['', ' ', '÷'.repeat(128)]) expect(await refusal(attribute, text)).not.toBe('');
  },
);

it('SPEC-RECORDED-TIME does not decrease while the clock of the node is set back', async () => {
  const start = Date.UTC(2024, 0, 1);
  await using world = await startHttpWorld({ nowMs: start });
  await world.client.create('shop');
  for (const [n, clockMs] of [7_000, 6_999, 0, -3_600_000, 7_001].entries()) {
    world.core.nowMs = start + clockMs;
    await world.client.commit('shop', cloudEvent(`${n}`));
  }
  const { events } = jsonOf(await world.client.get('/databases/shop/events')) as EventPage;
  const times = events.map(({ recordedtime }) => Date.parse(recordedtime) - start);
  expect(times).toEqual([7_000, 7_000, 7_000, 7_000, 7_001]);
});

it('SPEC-EFFECTIVE-TIME is refused when it is no time, with the required format', async () => {
  const name = await api.created();
  const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { time: '2024-01-01' })] });
  const [violation] = errorOf(answer, INVALID_ARGUMENT).details?.violations ?? [];
  expect(violation).toMatchObject({ field: 'events[0].time', description: expect.stringContaining('RFC 3339') });
});

it.each([[{ equals: { stream: 'a', eventType: 'b' } }], [{ ByColour: 'red' }], [{ or: [] }], [{ ByType: '' }], [[]]])(
  'SPEC-SELECTOR-MALFORMED %j is refused in every field, and the error names the field',
  async (selector) => {
    const name = await api.created();
    const query = await api.get(`/db/${name}/0/events?q=${q({ selector })}`);
    expect(errorOf(query, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^q\.selector/);
    const conditions = [{ max: { selector, revision: 0 } }];
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^conditions\[0\]/);
  },
);

it('SPEC-SELECTOR-MALFORMED: a selector that is nested too deeply is refused with the depth found', async () => {
  const nested = (depth: number): Parts =>
    depth === 1 ? { stream: 's' } : { kind: { $case: 'and', value: { selectors: [nested(depth - 1)] } } };
  const nestedJson = (depth: number): object => (depth === 1 ? { stream: 's' } : { and: [nestedJson(depth - 1)] });
  const name = await api.created();
  const words = 'must nest at most 16 deep; found 17 or more';
  const query = EventQuery.fromPartial({ eventSelection: { selectors: [nested(17)] } });
  const refused = await failureOf(client.collect('queryEvents', { databaseName: name, query }));
  expect([refused.code, refused.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(words)]);
  const answer = await api.post(`/databases/${name}/query`, { selectors: [nestedJson(17)] });
  expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(words);
});
