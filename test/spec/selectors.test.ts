// Malformed selectors are refused everywhere; the reference model compares well-formed ones.
import { expect, it } from 'vitest';
import { EventQuery, type EventSelector } from '../../proto/gen/cairn/v1/event.ts';
import { failureOf } from '../support/grpc-client.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, q, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

type Parts = Parameters<typeof EventSelector.fromPartial>[0];

const { api, server } = await sharedHttpNode();
const { client } = server;
const name = uniqueName();
await api.create(name);

it.each([[{ equals: { stream: 'a', eventType: 'b' } }], [{ ByColour: 'red' }], [{ or: [] }], [{ ByType: '' }], [[]]])(
  'SPEC-SELECTOR-MALFORMED %j is refused in every place, and names it',
  async (selector) => {
    const query = await api.get(`/db/${name}/0/events?q=${q({ selector })}`);
    expect(errorOf(query, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^q\.selector/);
    const conditions = [{ max: { selector, revision: 0 } }];
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^conditions\[0\]/);
  },
);

it('SPEC-SELECTOR-MALFORMED: too deep a selector is refused with what was found', async () => {
  const nested = (depth: number): Parts =>
    depth === 1 ? { stream: 's' } : { kind: { $case: 'and', value: { selectors: [nested(depth - 1)] } } };
  const nestedJson = (depth: number): object => (depth === 1 ? { stream: 's' } : { and: [nestedJson(depth - 1)] });
  const words = 'must nest at most 16 deep; found 17 or more';
  const query = EventQuery.fromPartial({ eventSelection: { selectors: [nested(17)] } });
  const refused = await failureOf(client.collect('queryEvents', { databaseName: name, query }));
  expect([refused.code, refused.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(words)]);
  const answer = await api.post(`/databases/${name}/query`, { selectors: [nestedJson(17)] });
  expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(words);
});
