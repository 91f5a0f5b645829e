// Goal: only one of two processes acts, and their endpoints show their health and metrics. Method: an API server in
// memory, a controller that counts its passes, and requests to the endpoints.
import { expect, it, onTestFinished } from 'vitest';
import { Api, type Controller, Informer, type KubeObject, pathOf, sourceOf } from '../../../operator/src/kube/index.ts';
import { OperatorProcess, portOf, readOptions, Telemetry } from '../../../operator/src/process/index.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';

const THING = { apiVersion: 'example.dev/v1', kind: 'Thing', plural: 'things' };
const LEASE_MS = 30_000;

function world() {
  const runtime = new ManualRuntime(1);
  const server = new MemoryApi(runtime);
  const place = { collection: pathOf(THING), namespace: 'prod', name: 'one', isStatus: false };
  server.store.create(place, { spec: {} }, 'user');
  return { runtime, server };
}

async function start({ runtime, server }: ReturnType<typeof world>, identity: string, failure?: Error) {
  const telemetry = new Telemetry();
  const api = new Api(server, runtime);
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const options = { api, telemetry, namespace: 'operators', leaseName: 'cairn-operator', identity, onError };
  const operator = new OperatorProcess(options);
  const informer = operator.follow('things', new Informer<KubeObject>(api, pathOf(THING), { onError }));
  const passes: string[] = [];
  const controller: Controller<string, never> = {
    name: 'things',
    observe: (key) => {
      passes.push(key);
      return failure === undefined ? Promise.resolve(key) : Promise.reject(failure);
    },
    plan: () => [],
    act: () => Promise.resolve(),
    isIrreversible: () => true,
    report: () => Promise.resolve(),
  };
  operator.control(controller, [sourceOf(informer)]);
  const over = new AbortController();
  const http = await telemetry.listen(0);
  onTestFinished(() => {
    over.abort();
    http.close();
  });
  const page = async (path: string): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(`http://127.0.0.1:${portOf(http)}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return { passes, errors, page, run: () => operator.run(over.signal), stop: () => over.abort() };
}

it('one process acts, and the other one when the first has stopped', async () => {
  const found = world();
  const [first, second] = [await start(found, 'first'), await start(found, 'second')];
  const ended = first.run();
  await found.runtime.advance(1_000);
  void second.run();
  await found.runtime.advance(LEASE_MS);
  expect([first.passes, second.passes]).toEqual([['prod/one'], []]);
  first.stop();
  await found.runtime.advance(LEASE_MS);
  await ended;
  expect(second.passes).toEqual(['prod/one']);
  expect((await first.page('/metrics')).text).toContain('\ncairn_operator_is_leader 0\n');
  expect((await second.page('/metrics')).text).toContain('\ncairn_operator_is_leader 1\n');
});

it('a process is healthy at once, and ready after its first lists', async () => {
  const found = world();
  const operator = await start(found, 'first');
  expect(await operator.page('/healthz')).toEqual({ status: 200, text: 'ok\n' });
  expect(await operator.page('/readyz')).toEqual({ status: 503, text: 'not listed yet: things\n' });
  void operator.run();
  await found.runtime.advance(1_000);
  expect(await operator.page('/readyz')).toEqual({ status: 200, text: 'ok\n' });
  expect((await operator.page('/other')).status).toBe(404);
});

it('the operator reports and counts failed passes, and counts failing objects', async () => {
  const found = world();
  const operator = await start(found, 'first', new Error('refused'));
  void operator.run();
  await found.runtime.advance(100);
  expect(operator.errors).toEqual([new Error('things prod/one: refused')]);
  const { text } = await operator.page('/metrics');
  expect(text).toContain('\ncairn_operator_reconciles_total{controller="things",result="error"} 1\n');
  expect(text).toContain('\ncairn_operator_queue_failing{controller="things"} 1\n');
  expect(text).toMatch(/\ncairn_operator_watch_stale_seconds\{resource="things"\} \d/);
});

it('flags are read, and unknown flags are refused', () => {
  expect(readOptions(['--pod-name=a-1', '--pod-namespace', 'operators', '--image=registry.example.com/cairn'])).toEqual(
    {
      image: 'registry.example.com/cairn',
      watchNamespace: undefined,
      port: 8080,
      podName: 'a-1',
      podNamespace: 'operators',
    },
  );
  expect(readOptions(['--watch-namespace=prod']).watchNamespace).toBe('prod');
  expect(() => readOptions(['--port=http'])).toThrow('--port is "http": it must be a port, 0 to 65535');
  expect(() => readOptions(['--ports=1'])).toThrow("Unknown option '--ports'");
});
