// Goal: a node compiles components of active versions ahead of their use, each once and one at a time. Method: the
// service on one node, with a scripted compiler.
import { beforeEach, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError } from '#base';
import type { ComponentSource, NoArtifact } from '#components';
import { encodeDefinitionEntry, toVersionNumber } from '#model';
import { SERVICE_LIMITS } from '#service';
import type { Components } from '../../../src/service/context.ts';
import { registrationOf } from '../../support/cluster/kept-world.ts';
import { componentName } from '../../support/definitions.ts';
import { definingPayloads, viewOf } from '../../support/published.ts';
import { ServiceWorld, settle } from '../../support/service-world.ts';

type Prepared = Awaited<ReturnType<Components['artifacts']['prepare']>>;

const OK: Prepared = { kind: 'ok', value: { key: 'k' } };
const REFUSED: NoArtifact = { kind: 'refused', refusal: { code: 'TooLarge', message: 'it is', offset: 0 } };

let world: ServiceWorld;
let asked: { readonly digest: string; readonly bytes: number }[];
let answer: (component: ComponentSource) => Promise<Prepared>;
let told: unknown[];
let stop: Disposable;

beforeEach(async () => {
  [asked, told, answer] = [[], [], async () => OK];
  const prepare = async (component: ComponentSource): Promise<Prepared> => {
    asked.push({ digest: component.digest, bytes: (await component.bytes()).length });
    return answer(component);
  };
  const components: object = { artifacts: { prepare } };
  world = await new ServiceWorld({}, async () => components as Components).start();
  await world.core.core.admin.register(registrationOf(1), true);
  await world.core.node.latest(CATALOG_GROUP);
  const fail = (...failure: readonly unknown[]): never => {
    throw new Error('Nothing fails here', { cause: failure });
  };
  stop = world.service.compileAhead({
    onFatal: fail,
    onFailure: (_binding, failure) => void told.push(failure),
    onRefused: ({ name }, { definition, version }, fault) => void told.push([name, definition.name, version, fault]),
  });
});

function publish(databaseName: string, name: string, bytes: number): Promise<unknown> {
  const view = viewOf({ state_view_name: name, events: ['t'] });
  return world.define(databaseName, ...definingPayloads(view, new Uint8Array(bytes)));
}

async function looks(count = 3): Promise<void> {
  for (let done = 0; done < count; done++) {
    world.timers.pass(SERVICE_LIMITS.viewPollMs);
    for (let turns = 0; turns < 10; turns++) await settle();
  }
}

it('compiles each defined component once for all databases', async () => {
  for (const name of ['shop', 'bank', 'empty']) await world.database(name, 1);
  await publish('shop', 'one', 10);
  await looks();
  expect(asked.map(({ bytes }) => bytes)).toEqual([10]);
  await publish('shop', 'two', 20);
  await publish('bank', 'one', 10);
  await looks();
  expect(asked.map(({ bytes }) => bytes)).toEqual([10, 20]);
});

it('compiles one at a time, and inactive versions only after the last active one', async () => {
  const held = Promise.withResolvers<Prepared>();
  answer = () => held.promise;
  await world.database('shop', 1);
  for (const bytes of [1, 2, 3, 4]) await publish('shop', bytes === 1 ? 'view-1' : 'view-2', bytes);
  const [component, name, status] = ['state-view', componentName('view-2'), { active: false, mode: 'lazy' }] as const;
  for (const version of [1, 3].map(toVersionNumber))
    await world.define('shop', encodeDefinitionEntry({ kind: 'set-status', component, name, version, status }));
  await looks();
  expect(asked.length).toBe(1);
  held.resolve(OK);
  await looks();
  expect(new Set(asked.map(({ bytes }) => bytes))).toEqual(new Set([1, 3, 4]));
});

it('reports each component that it cannot run once, and compiles the others', async () => {
  answer = async ({ digest }) => (digest === asked[0]?.digest ? { kind: 'failure', reason: REFUSED } : OK);
  await world.database('shop', 1);
  await publish('shop', 'bad', 1);
  await publish('shop', 'good', 2);
  await looks();
  await publish('shop', 'later', 3);
  await looks();
  expect(asked.map(({ bytes }) => bytes)).toEqual([1, 2, 3]);
  expect(told).toEqual([['shop', 'bad', 1, 'TooLarge: it is']]);
  const [own] = world.core.core.admin.describe().nodes;
  expect(own?.own?.refused).toEqual([{ digest: asked[0]?.digest, fault: 'TooLarge: it is' }]);
});

it('tries again when others publish, and starts nothing after it was stopped', async () => {
  answer = async () => {
    throw new DatabaseError('busy', 'others publish', { details: { reason: 'Busy' } });
  };
  await world.database('shop', 1);
  await publish('shop', 'one', 1);
  await publish('shop', 'two', 2);
  await looks(2);
  expect([asked.length, told]).toEqual([2, []]);
  const held = Promise.withResolvers<Prepared>();
  answer = () => held.promise;
  await looks(1);
  stop[Symbol.dispose]();
  held.resolve({ kind: 'failure', reason: REFUSED });
  await looks();
  expect([asked.length, told, world.timers.count]).toEqual([3, [], 0]);
});
