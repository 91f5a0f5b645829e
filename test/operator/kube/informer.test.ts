// Goal: an informer converges to the state of the server under every fault, and its handlers receive every change once.
// Method: an API server in memory with seeded faults, and a manual clock.
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Api, Informer, type InformerOptions, type KubeObject, keyOf } from '../../../operator/src/kube/index.ts';
import { EVERY_FAULT, type FaultRates } from '../../support/kube-api/faults.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime, settled } from '../../support/manual-runtime.ts';
import { runs } from '../../support/runs.ts';

const PATH = '/api/v1/things';
const COLOURS = ['red', 'green', 'blue'];
/** A dead watch ends after 90 s; the next one follows after a backoff of at most 15 s. */
const CONVERGED_MS = 180_000;

interface Thing extends KubeObject {
  readonly spec: { readonly colour: string; readonly size: number };
}

interface Setting extends Partial<InformerOptions<Thing>> {
  readonly rates?: FaultRates;
  /** Number of objects before the first list. */
  readonly count?: number;
}

function world(seed: number, { rates, count = 0, ...options }: Setting = {}) {
  const runtime = new ManualRuntime(seed);
  const server = new MemoryApi(runtime, rates);
  const body = { spec: { colour: 'red', size: 1 } };
  for (let at = 0; at < count; at += 1) server.store.create(target(`thing-${at}`), body, 'test');
  const over = new AbortController();
  const errors: string[] = [];
  const onError = (error: unknown): void => void errors.push(String(error));
  const informer = new Informer<Thing>(new Api(server, runtime), PATH, { onError, ...options });
  const ended = informer.run(over.signal);
  onTestFinished(() => over.abort());
  return { runtime, server, informer, errors, over, ended };
}

function target(name: string) {
  return { collection: PATH, namespace: 'default', name, isStatus: false };
}

/** Creates, changes or deletes the thing. */
function put({ store }: MemoryApi, name: string, spec: Thing['spec'] | undefined): void {
  const known = store.list(PATH).some(({ metadata }) => metadata.name === name);
  if (spec === undefined) return void (known && store.delete(target(name)));
  store[known ? 'replace' : 'create'](target(name), { metadata: { name }, spec }, 'test');
}

/** `key@version` of each item. */
function versions(items: Iterable<KubeObject>): readonly string[] {
  return [...items].map((item) => `${keyOf(item)}@${item.metadata.resourceVersion}`).toSorted();
}

/** A copy that the handlers build, with the faults that they find (KM6). */
class Mirror {
  readonly items = new Map<string, Thing>();
  readonly faults: string[] = [];

  readonly onSet = (item: Thing, before?: Thing): void => {
    const known = this.items.get(keyOf(item));
    const [version, last] = [item, known].map((each) => Number(each?.metadata.resourceVersion ?? 0));
    if (known !== before) this.faults.push(`${keyOf(item)}: differs from the last notification`);
    if (version === undefined || last === undefined || version <= last) {
      this.faults.push(`${keyOf(item)}: ${version} after ${last}`);
    }
    this.items.set(keyOf(item), item);
  };

  readonly onDelete = (item: Thing): void => {
    if (!this.items.delete(keyOf(item))) this.faults.push(`${keyOf(item)}: deleted twice`);
  };
}

it('an informer converges to the state of the server after faults (KM3, KM4, KM6)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const mirror = new Mirror();
    const { onSet, onDelete } = mirror;
    const setting = { rates: EVERY_FAULT, relistMs: 20_000, onSet, onDelete };
    const { runtime, server, informer, over, ended } = world(seed, setting);
    const { chance } = runtime;
    for (let step = 0; step < 60; step += 1) {
      const spec = (): Thing['spec'] => ({ colour: chance.pick(COLOURS), size: chance.below(9) });
      for (let left = chance.below(6); left > 0; left -= 1) {
        put(server, `thing-${chance.below(8)}`, chance.maybe(75, spec));
      }
      if (chance.chance(10)) server.compact();
      if (chance.chance(5)) server.restart(chance.below(60_000));
      await runtime.advance(chance.below(20_000));
      expect(versions(informer.items.values())).toEqual(versions(mirror.items.values()));
    }
    server.faults.set();
    await runtime.advance(CONVERGED_MS);
    expect(versions(informer.items.values())).toEqual(versions(server.store.list(PATH)));
    expect(mirror.faults).toEqual([]);
    over.abort();
    await ended;
  });
  await fc.assert(property, { numRuns: runs(180), endOnFailure: true });
});

describe('an informer', () => {
  it('replaces a black-holed watch, and misses no change (KM2)', async () => {
    const { runtime, server, informer } = world(1, { rates: { requests: {}, messages: { 'black-hole': 100 } } });
    await runtime.advance(1_000);
    put(server, 'one', { colour: 'red', size: 1 });
    await runtime.advance(60_000);
    expect(versions(informer.items.values())).toEqual([]);
    expect(informer.staleMs).toBeGreaterThan(59_000);
    server.faults.set();
    await runtime.advance(31_000);
    expect([...informer.items.keys()]).toEqual(['default/one']);
  });

  it('watches again without delay after each of many black-holed watches', async () => {
    const { runtime, informer } = world(1, { rates: { requests: {}, messages: { 'black-hole': 100 } } });
    let stalestMs = 0;
    for (let second = 0; second < 1_800; second += 1) {
      await runtime.advance(1_000);
      stalestMs = Math.max(stalestMs, informer.staleMs);
    }
    expect(stalestMs).toBeLessThan(91_000);
  });

  it('sends at most 25 requests in a quiet hour', async () => {
    const { runtime, server, informer, errors } = world(1);
    await runtime.advance(3_600_000);
    expect(server.requests.length).toBeLessThan(25);
    expect(informer.staleMs).toBeLessThan(61_000);
    expect(errors).toEqual([]);
  });

  it.each(['throttles', 'fails'])('sends at most one request in two seconds when the server %s', async (fault) => {
    const { runtime, server } = world(1, { rates: { requests: { [fault]: 100 }, messages: {} } });
    await runtime.advance(600_000);
    expect(server.requests.length).toBeGreaterThan(30);
    expect(server.requests.length).toBeLessThan(300);
  });

  it('repairs a lost message at its next list (KM5)', async () => {
    const { runtime, server, informer } = world(1);
    await runtime.advance(1_000);
    const { onChange } = server.store;
    server.store.onChange = () => undefined;
    put(server, 'one', { colour: 'red', size: 1 });
    server.store.onChange = onChange;
    put(server, 'two', { colour: 'red', size: 1 });
    await runtime.advance(1_000);
    expect([...informer.items.keys()]).toEqual(['default/two']);
    await runtime.advance(900_000);
    expect([...informer.items.keys()].toSorted()).toEqual(['default/one', 'default/two']);
  });

  it('starts over when the server has lost versions, as after a restore', async () => {
    const { runtime, server, informer } = world(1);
    for (const name of ['one', 'two']) put(server, name, { colour: 'red', size: 1 });
    await runtime.advance(1_000);
    server.store.log.pop();
    server.store.version -= 1;
    server.restart(1_000);
    await runtime.advance(30_000);
    expect([...informer.items.keys()]).toEqual(['default/one']);
  });

  it('reads long lists in pages, and in one response when the token of a page has expired', async () => {
    const { runtime, server, informer, errors } = world(1, { count: 1_200 });
    await runtime.advance(1);
    expect([server.requests.length, informer.items.size]).toEqual([4, 1_200]);
    const again = world(1, { count: 1_200 });
    put(again.server, 'thing-0', { colour: 'blue', size: 1 });
    again.server.compact();
    await again.runtime.advance(1);
    expect([again.server.requests.length, again.informer.items.size]).toEqual([4, 1_200]);
    expect([...errors, ...again.errors]).toEqual([]);
  });

  it('calls the other handlers when one throws, and passes present objects to late subscribers (KM7)', async () => {
    const onSet = (): void => {
      throw new Error('the handler failed');
    };
    const { runtime, server, informer, errors } = world(1, { onSet });
    const told: string[] = [];
    const end = informer.subscribe({ onSet: (item) => void told.push(keyOf(item)) });
    put(server, 'one', { colour: 'red', size: 1 });
    await runtime.advance(1_000);
    informer.subscribe({ onSet: (item) => void told.push(`late ${keyOf(item)}`) });
    end();
    put(server, 'one', { colour: 'blue', size: 1 });
    await settled();
    expect(told).toEqual(['default/one', 'late default/one', 'late default/one']);
    expect(errors).toEqual(['Error: the handler failed', 'Error: the handler failed']);
  });
});
