// Goal: a read of a State View uses the right version, revision and values (V13, V14). Method: the service of one node
// with a compiled component.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DatabaseError, toRevision } from '#base';
import { type DefinitionEntry, type Event, encodeDefinitionEntry, toVersionNumber } from '#model';
import { hashingView } from '../../support/components/views.ts';
import { componentName } from '../../support/definitions.ts';
import { definingPayloads, viewOf } from '../../support/published.ts';
import { NEVER, ServiceWorld } from '../../support/service-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { testGuests } from '../../support/test-guests.ts';

const SUBJECT = { type: 'equals', attr: { subject: { parameter: 'account' } } };
const dir = tempDir();
const guests = testGuests(dir.path);
const world = new ServiceWorld({}, () => guests.open());
let bytes: Uint8Array;

beforeAll(async () => {
  bytes = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
  await world.start();
  await world.database('bank', 0);
  await world.transact('bank', { events: [event('a', '1'), event('a', '2'), event('b', '3')] });
  const byAccount = viewOf({ state_view_name: 'balances', event_selector: SUBJECT });
  await define(...definingPayloads(byAccount, bytes));
  await world.transact('bank', { events: [event('a', '4')] });
  const byTime = viewOf({
    state_view_name: 'stock',
    events: ['t'],
    query_temporality: 'effective_timestamp',
  });
  await define(...definingPayloads(byTime, bytes));
}, 60_000);
afterAll(async () => {
  await guests[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

function event(subject: string, id: string): Partial<Event> {
  return { subject, id, type: 't' };
}

async function define(...payloads: readonly Uint8Array[]): Promise<unknown> {
  return (await world.define('bank', ...payloads)).at(-1);
}

it('a State View is read in its latest active version, or in the requested one', async () => {
  const keyed = viewOf({ state_view_name: 'balances', event_selector: SUBJECT, description: 'another one' });
  const wanted = { kind: 'defined', version: 2, isNew: true };
  expect(await define(...definingPayloads(keyed, bytes))).toEqual(wanted);
  const versionOf = (version?: number): Promise<unknown> => {
    const asked = { databaseName: 'bank', name: 'balances', at: 'latest', signal: NEVER, version } as const;
    return world.service.openStateView(asked).then(
      ({ version: found }) => found.version,
      (error: DatabaseError) => error.details.reason,
    );
  };
  expect([await versionOf(), await versionOf(1), await versionOf(2)]).toEqual([2, 1, 2]);
  const before = { databaseName: 'bank', name: 'balances', at: toRevision(0), signal: NEVER } as const;
  const first = await world.service.openStateView(before);
  const second = await world.service.openStateView({ ...before, version: 2 });
  expect([first.version.version, second.version.version]).toEqual([1, 2]);
  const status: DefinitionEntry = {
    kind: 'set-status',
    component: 'state-view',
    name: componentName('balances'),
    version: toVersionNumber(2),
    status: { active: false, mode: 'lazy' },
  };
  await define(encodeDefinitionEntry(status));
  expect([await versionOf(), await versionOf(1), await versionOf(2)]).toEqual([1, 1, 'StateViewNotFound']);
  await define(encodeDefinitionEntry({ ...status, kind: 'delete', onlyInactive: false }));
  expect([await versionOf(), await versionOf(2)]).toEqual([1, 'StateViewNotFound']);
});

it('a State View is folded by the function that its definition names, when other views fold by another one of the same component', async () => {
  // The signature of `query` is that of a fold. It appends its argument to the state.
  const texts = viewOf({ state_view_name: 'texts', event_selector: SUBJECT, reduce_fn: 'query' });
  await define(...definingPayloads(texts, bytes));
  const asked = { databaseName: 'bank', at: 'latest', signal: NEVER } as const;
  const sizes: number[] = [];
  for (const name of ['balances', 'texts', 'balances', 'texts']) {
    const opened = await world.service.openStateView({ ...asked, name });
    const parameters = new Map([['subject.account', 'a']]);
    sizes.push((await opened.bind({ parameters, field: 'parameters' }).render({ signal: NEVER })).bytes.length);
  }
  const [few = 0, many = 0] = sizes;
  expect([sizes, many > 10 * few]).toEqual([[few, many, few, many], true]);
});
