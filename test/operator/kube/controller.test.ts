// Goal: a controller converges under faults of the API server and kills of the operator, and then writes nothing.
// Method: things that want a number of parts, a controller that creates and deletes parts one by one, an API server in
// memory with seeded faults, and an operator that is killed at random times.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  Api,
  apply,
  applyStatus,
  type Condition,
  type Controller,
  ControllerLoop,
  conditionsOf,
  Informer,
  type Kind,
  type KubeObject,
  keyOf,
  type Pass,
  pathOf,
  sourceOf,
} from '../../../operator/src/kube/index.ts';
import { EVERY_FAULT, type FaultRates } from '../../support/kube-api/faults.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { runs } from '../../support/runs.ts';

const THING: Kind = { apiVersion: 'example.dev/v1', kind: 'Thing', plural: 'things' };
const PART: Kind = { apiVersion: 'example.dev/v1', kind: 'Part', plural: 'parts' };

interface Thing extends KubeObject {
  readonly spec: { readonly parts: number };
  readonly status?: { readonly parts?: number; readonly conditions?: readonly Condition[] };
}

interface Part extends KubeObject {
  readonly spec: { readonly thing: string };
}

interface World {
  readonly thing: Thing;
  readonly parts: readonly Part[];
}

type Action =
  | { readonly kind: 'add'; readonly name: string; readonly key: string }
  | { readonly kind: 'remove'; readonly part: Part };

/** One process of the operator. */
class Operator {
  readonly over = new AbortController();
  readonly passes: Pass[] = [];
  /** Maximum of actions for a key between two observations. */
  mostAtOnce = 0;
  isLeader = true;
  readonly #api: Api;
  readonly #things: Informer<Thing>;
  readonly #parts: Informer<Part>;
  readonly #acted = new Map<string, number>();

  constructor(runtime: ManualRuntime, server: MemoryApi) {
    const onError = (): void => undefined;
    this.#api = new Api(server, runtime);
    this.#things = new Informer(this.#api, pathOf(THING), { onError });
    this.#parts = new Informer(this.#api, pathOf(PART), { onError, indexes: { thing: ({ spec }) => [spec.thing] } });
    const onPass = (pass: Pass): void => void this.passes.push(pass);
    const loop = new ControllerLoop(this.#controller(), { runtime, mayAct: () => this.isLeader, onPass });
    const { signal } = this.over;
    void this.#things.run(signal);
    void this.#parts.run(signal);
    void loop.run([sourceOf(this.#things), sourceOf(this.#parts, ({ spec }) => [spec.thing])], signal);
  }

  #controller(): Controller<World, Action> {
    return {
      name: 'things',
      observe: async (key) => {
        this.#acted.set(key, 0);
        const thing = this.#things.items.get(key);
        return thing && { thing, parts: this.#parts.by('thing', key) };
      },
      plan,
      act: (action) => this.#act(action),
      isIrreversible: () => true,
      report: ({ thing, parts }, { failure }) => this.#report(thing, parts.length, failure),
    };
  }

  async #act(action: Action): Promise<void> {
    const key = action.kind === 'add' ? action.key : action.part.spec.thing;
    const acted = (this.#acted.get(key) ?? 0) + 1;
    this.#acted.set(key, acted);
    this.mostAtOnce = Math.max(this.mostAtOnce, acted);
    if (action.kind === 'remove') {
      const { uid } = action.part.metadata;
      await this.#api.delete(pathOf(PART, action.part.metadata), { preconditions: { uid } });
      return;
    }
    const { name } = action;
    const namespace = ONE.namespace;
    await apply(this.#api, PART, { metadata: { namespace, name }, spec: { thing: key } }, 'things');
  }

  async #report(thing: Thing, parts: number, failure: unknown): Promise<void> {
    const { generation: observedGeneration = 0 } = thing.metadata;
    const status = failure === undefined ? ('True' as const) : ('False' as const);
    const found = [{ type: 'Working', status, reason: 'Because', message: '', observedGeneration }];
    const conditions = conditionsOf(thing.status?.conditions, found, this.#api.runtime.wallMs());
    const manager = 'things-status';
    await applyStatus(this.#api, { kind: THING, object: thing, status: { parts, conditions }, manager });
  }
}

function plan({ thing, parts }: World): readonly Action[] {
  const names = Array.from({ length: thing.spec.parts }, (_, at) => `${thing.metadata.name}-${at}`);
  const missing = names.filter((name) => !parts.some(({ metadata }) => metadata.name === name));
  const surplus = parts.filter(({ metadata }) => !names.includes(metadata.name));
  return [
    ...missing.map((name) => ({ kind: 'add' as const, name, key: keyOf(thing) })),
    ...surplus.map((part) => ({ kind: 'remove' as const, part })),
  ];
}

const ONE = { collection: pathOf(THING), namespace: 'default', name: 'one', isStatus: false };
const PLACES = ['one', 'two', 'three'].map((name) => ({ ...ONE, name }));

function world(seed: number, rates?: FaultRates) {
  const runtime = new ManualRuntime(seed);
  const server = new MemoryApi(runtime, rates);
  for (const place of PLACES) server.store.create(place, { spec: { parts: runtime.chance.below(5) } }, 'user');
  return { runtime, server };
}

/** Wanted, existing and reported parts of each thing, and the remaining actions. */
function counts({
  store,
}: MemoryApi): readonly (readonly [wanted: number, made: number, reported: unknown, left: number])[] {
  return (store.list(pathOf(THING)) as unknown as readonly Thing[]).map((thing) => {
    const parts = (store.list(pathOf(PART)) as unknown as readonly Part[]).filter(
      ({ spec }) => spec.thing === keyOf(thing),
    );
    return [thing.spec.parts, parts.length, thing.status?.parts, plan({ thing, parts }).length] as const;
  });
}

it('a controller converges under faults and kills, and then writes nothing (KM20, KM21)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const { runtime, server } = world(seed, EVERY_FAULT);
    const { chance } = runtime;
    let operator = new Operator(runtime, server);
    for (let step = 0; step < 30; step += 1) {
      const [place, parts] = [chance.pick(PLACES), chance.below(6)];
      if (chance.chance(40)) server.store.merge(place, { spec: { parts } }, 'user');
      const made = server.store.list(pathOf(PART));
      if (made.length > 0 && chance.chance(30)) {
        server.store.delete({ ...place, collection: pathOf(PART), name: chance.pick(made).metadata.name });
      }
      if (chance.chance(20)) {
        operator.over.abort();
        operator = new Operator(runtime, server);
      }
      await runtime.advance(chance.below(15_000));
      expect(operator.mostAtOnce).toBeLessThanOrEqual(1);
    }
    server.faults.set();
    await runtime.advance(900_000);
    for (const [wanted, made, reported, left] of counts(server)) {
      expect([made, reported, left]).toEqual([wanted, wanted, 0]);
    }
    server.requests.length = 0;
    await runtime.advance(3_600_000);
    expect(server.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
    operator.over.abort();
  });
  await fc.assert(property, { numRuns: runs(60), endOnFailure: true });
});

it('a controller writes nothing when it does not lead, and observes each object every five minutes (KM20, KM21)', async () => {
  const { runtime, server } = world(1);
  const operator = new Operator(runtime, server);
  operator.isLeader = false;
  await runtime.advance(10_000);
  expect(server.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  operator.isLeader = true;
  await runtime.advance(60_000);
  const wanted = counts(server).reduce((sum, [parts]) => sum + parts, 0);
  expect(server.store.list(pathOf(PART))).toHaveLength(wanted);
  operator.passes.length = 0;
  await runtime.advance(3_000_000);
  expect(operator.passes.length / PLACES.length).toBeGreaterThanOrEqual(9);
  expect(operator.passes.length / PLACES.length).toBeLessThanOrEqual(11);
  expect(operator.passes[0]).toMatchObject({ controller: 'things', actions: 0, failure: undefined });
  operator.over.abort();
});

it('a failed pass is counted, reported in the status, and retried', async () => {
  const { runtime, server } = world(1);
  server.store.merge(ONE, { spec: { parts: 3 } }, 'user');
  const applied = server.store.apply.bind(server.store);
  server.store.apply = (target, ...rest) => {
    if (target.name === 'one-1') throw new Error('connection reset');
    return applied(target, ...rest);
  };
  const operator = new Operator(runtime, server);
  await runtime.advance(60_000);
  const failures = operator.passes.filter(({ key, failure }) => key === 'default/one' && failure !== undefined);
  expect(failures.length).toBeGreaterThan(3);
  expect(failures.length).toBeLessThan(12);
  const [thing] = server.store.list(pathOf(THING)).filter(({ metadata }) => metadata.name === 'one');
  expect(thing?.['status']).toMatchObject({ conditions: [{ type: 'Working', status: 'False' }] });
  server.store.apply = applied;
  await runtime.advance(120_000);
  expect(counts(server)).toContainEqual([3, 3, 3, 0]);
  operator.over.abort();
});
