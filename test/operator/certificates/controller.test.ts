// Goal: the controller creates the Secrets of a CairnCluster despite failed requests, and does not write them again
// (KS1, KS3). Method: the controller with an API server in memory, without faults and with seeded faults.
import { expect, it, onTestFinished } from 'vitest';
import { SecretsController } from '../../../operator/src/certificates/index.ts';
import { Api, ControllerLoop, type EventText, keyOf, type Pass } from '../../../operator/src/kube/index.ts';
import { eventually } from '../../support/eventually.ts';
import { EVERY_FAULT, type FaultRates } from '../../support/kube-api/faults.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { clusterOf } from '../objects/clusters.ts';

const OWN = ['shop-auth', 'shop-authority', 'shop-ca', 'shop-peer', 'shop-tls'];
const SECRETS = '/api/v1/secrets';
const HOUR_MS = 3_600_000;

function start(seed: number, rates?: FaultRates, spec: object = {}) {
  const runtime = new ManualRuntime(seed);
  const memory = new MemoryApi(runtime, rates);
  const declared = clusterOf({ ...spec });
  const { namespace, name } = declared.metadata;
  const target = { collection: '/apis/cairn.dev/v1alpha1/cairnclusters', namespace, name, isStatus: false };
  const { uid } = memory.store.create(target, { spec: {} }, 'user').metadata;
  const cluster = { ...declared, metadata: { ...declared.metadata, uid } };
  const [passes, events]: [Pass[], EventText[]] = [[], []];
  const controller = new SecretsController({
    api: new Api(memory, runtime),
    clusterOf: (key) => (key === keyOf(cluster) ? cluster : undefined),
    events: { record: (_object, text) => void events.push(text) },
  });
  const loop = new ControllerLoop(controller, {
    runtime,
    mayAct: () => true,
    onPass: (pass) => void passes.push(pass),
  });
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const source = {
    synced: Promise.resolve(),
    subscribe: (add: (key: string) => void) => (add(keyOf(cluster)), () => undefined),
  };
  void loop.run([source], over.signal);
  return { runtime, memory, cluster, controller, passes, events };
}

/** Keys are made by threads, which the manual clock does not wait for. */
async function isIssued({ runtime, controller, cluster }: ReturnType<typeof start>): Promise<void> {
  await eventually(async () => {
    await runtime.advance(10_000);
    expect(controller.stateOf(cluster).tls[1]).toBe('Issued');
  });
}

it('the controller writes each Secret once, and reports it', async () => {
  const started = start(1);
  const { runtime, memory, cluster, controller, events } = started;
  expect(controller.stateOf(cluster).tls[0]).toBe('Unknown');
  await isIssued(started);
  await runtime.advance(HOUR_MS);
  expect(memory.store.list(SECRETS).map(({ metadata }) => metadata.name)).toEqual(OWN);
  expect(memory.requests.filter((request) => !request.startsWith('GET'))).toHaveLength(OWN.length);
  expect(events.map(({ reason }) => reason)).toEqual(OWN.map(() => 'SecretWritten'));
  expect(controller.stateOf(cluster)).toEqual({
    adminSecretName: 'shop-auth',
    caSecretName: 'shop-ca',
    tls: ['True', 'Issued', 'the certificates are valid and are renewed in time'],
  });
});

it('the controller renews a certificate in the Secret that exists', async () => {
  const started = start(1, undefined, { tls: { duration: '3h', renewBefore: '1h' } });
  await isIssued(started);
  const { runtime, memory } = started;
  await eventually(async () => {
    await runtime.advance(HOUR_MS / 2);
    expect(memory.requests).toContain('PUT /api/v1/namespaces/prod/secrets/shop-tls');
  });
});

it.each([1, 2, 3, 4])(
  'each key is generated once, even when requests fail, with the seed %i (KS1, KS3)',
  async (seed) => {
    const started = start(seed, EVERY_FAULT);
    await isIssued(started);
    const writes = started.memory.store.log.filter(({ collection }) => collection === SECRETS);
    expect(writes.map(({ type }) => type)).toEqual(OWN.map(() => 'ADDED'));
  },
);
