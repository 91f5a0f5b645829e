// Goal: applies, statuses and events are written correctly, and only when something has changed. Method: an API server
// in memory that implements server-side apply.
import { describe, expect, it } from 'vitest';
import {
  Api,
  apply,
  applyStatus,
  type Condition,
  conditionsOf,
  EventRecorder,
  type Finding,
  type Kind,
  type KubeObject,
} from '../../../operator/src/kube/index.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime, settled } from '../../support/manual-runtime.ts';

const THING: Kind = { apiVersion: 'example.dev/v1', kind: 'Thing', plural: 'things' };
const COLLECTION = '/apis/example.dev/v1/things';
const EVENTS = '/apis/events.k8s.io/v1/events';
const PLACE = { namespace: 'default', name: 'one' };

function world() {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const errors: string[] = [];
  const events = () => server.store.list(EVENTS);
  return { runtime, server, api: new Api(server, runtime), errors, events };
}

function wanted(spec: object) {
  return { metadata: PLACE, spec };
}

describe('server-side apply', () => {
  it('creates an object, changes it, and removes fields that are no longer applied (KM15)', async () => {
    const { api, server } = world();
    await apply(api, THING, wanted({ colour: 'red', size: 1 }), 'operator');
    await apply(api, THING, wanted({ size: 2 }), 'operator');
    const [thing] = server.store.list(COLLECTION);
    expect(thing).toMatchObject({ apiVersion: 'example.dev/v1', kind: 'Thing', metadata: { ...PLACE, generation: 2 } });
    expect(thing?.['spec']).toEqual({ size: 2 });
  });

  it('takes over fields of other managers (KM15)', async () => {
    const { api, server } = world();
    await apply(api, THING, wanted({ replicas: 3, size: 1 }), 'autoscaler');
    await apply(api, THING, wanted({ replicas: 5 }), 'operator');
    await apply(api, THING, wanted({ size: 1 }), 'autoscaler');
    expect(server.store.list(COLLECTION)[0]?.['spec']).toEqual({ replicas: 5, size: 1 });
  });
});

describe('a status', () => {
  it('is written only when it differs (KM16)', async () => {
    const { api, server } = world();
    let object = await apply<KubeObject>(api, THING, wanted({}), 'operator');
    const write = (status: Readonly<Record<string, unknown>>) =>
      applyStatus(api, { kind: THING, object, status, manager: 'operator-status' });
    expect(await write({ ready: 1, version: undefined, zones: [{ name: 'a' }] })).toBe(true);
    object = await api.get(`${COLLECTION.replace('/things', '/namespaces/default/things')}/one`);
    const before = server.requests.length;
    expect(await write({ zones: [{ name: 'a' }], ready: 1, version: undefined })).toBe(false);
    expect(server.requests.length).toBe(before);
    expect(await write({ ready: 2 })).toBe(true);
    expect(server.store.list(COLLECTION)[0]?.['status']).toEqual({ ready: 2 });
  });

  it('has sorted conditions whose transition time changes only with their status (KM17)', () => {
    const next = (before: readonly Condition[] | undefined, ready: Finding, wallMs: number): readonly Condition[] =>
      conditionsOf(before, { Ready: ready, Progressing: ['False', 'Done', ''] }, { observedGeneration: 1, wallMs });
    const first = next(undefined, ['False', 'Because', 'one of three'], 1_000);
    const second = next(first, ['False', 'Because', 'two of three'], 60_000);
    const third = next(second, ['True', 'Because', ''], 120_000);
    expect(first.map(({ type }) => type)).toEqual(['Progressing', 'Ready']);
    expect([first, second, third].map(([, ready]) => ready?.lastTransitionTime)).toEqual([
      '1970-01-01T00:00:01Z',
      '1970-01-01T00:00:01Z',
      '1970-01-01T00:02:00Z',
    ]);
    expect(second[1]?.message).toBe('two of three');
    expect(next(third, ['True', 'Because', ''], 999_000)).toEqual(third);
    expect(conditionsOf(third, {}, { observedGeneration: 2, wallMs: 0 })).toEqual([]);
  });
});

describe('a recorder of events', () => {
  const regarding: KubeObject = {
    apiVersion: 'example.dev/v1',
    kind: 'Thing',
    metadata: { ...PLACE, uid: 'u1', resourceVersion: '1' },
  };
  const text = (note: string) => ({ type: 'Warning' as const, reason: 'Stuck', action: 'Roll', note });

  function recorder() {
    const { api, errors, ...rest } = world();
    const onError = (error: unknown): void => void errors.push(String(error));
    return { ...rest, errors, recorder: new EventRecorder(api, { controller: 'c', instance: 'pod-1', onError }) };
  }

  it('counts repeated events in a series, and writes the count once a minute (KM18)', async () => {
    const { recorder: events, events: written, server, runtime, errors } = recorder();
    for (let second = 0; second < 300; second += 1) {
      events.record(regarding, text('node-1 is behind'));
      await runtime.advance(1_000);
    }
    const [event, ...others] = written();
    expect([others, errors]).toEqual([[], []]);
    expect(event).toMatchObject({
      regarding: { kind: 'Thing', name: 'one', namespace: 'default', uid: 'u1' },
      reportingController: 'c',
      eventTime: '2026-11-29T12:00:00.000000Z',
      series: { count: 242 },
    });
    expect(server.requests.length).toBeLessThanOrEqual(7);
    await runtime.advance(400_000);
    events.record(regarding, text('node-1 is behind'));
    await events.flush();
    expect(written()).toHaveLength(2);
  });

  it('names an event of an object with the longest name as the API server allows', async () => {
    const { recorder: events, events: written } = recorder();
    const name = `${'a'.repeat(239)}-${'b'.repeat(13)}`;
    events.record({ ...regarding, metadata: { ...regarding.metadata, name } }, text('a'));
    await events.flush();
    const [event] = written() as unknown as [KubeObject];
    expect(event.metadata.name).toMatch(/^a{239}\.[0-9a-f]{1,12}$/);
    expect(event).toMatchObject({ regarding: { name } });
  });

  it('creates a new event when the server has deleted the old one, and continues after a failed write', async () => {
    const { recorder: events, events: written, server, errors } = recorder();
    events.record(regarding, text('a'));
    await events.flush();
    const [{ metadata }] = written() as unknown as [KubeObject];
    server.store.delete({ collection: EVENTS, namespace: 'default', name: metadata.name, isStatus: false });
    for (let count = 0; count < 2; count += 1) {
      events.record(regarding, text('a'));
      await events.flush();
    }
    expect(written()).toHaveLength(1);
    server.restart(1_000);
    events.record(regarding, text('b'));
    await events.flush();
    expect(errors).toEqual(['Error: connection refused']);
  });

  it('drops events above a burst and one in ten seconds (KM19)', async () => {
    const { recorder: events, events: written, runtime } = recorder();
    for (let count = 0; count < 1_000; count += 1) events.record(regarding, text(`note ${count}`));
    await settled();
    expect(written()).toHaveLength(25);
    await runtime.advance(20_000);
    for (let count = 0; count < 10; count += 1) events.record(regarding, text(`later ${count}`));
    await settled();
    expect(written()).toHaveLength(27);
  });
});
