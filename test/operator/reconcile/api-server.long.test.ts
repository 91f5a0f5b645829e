// Goal: a real API server accepts the writes of the controllers of databases, access and components: finalizers,
// statuses of the observed version, Secrets and events. Method: a real API server with the definitions of
// charts/cairn-crds, and a node in this process that authenticates its clients.
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CAIRN_CLUSTER,
  EVENT_ACCESS,
  EVENT_DATABASE,
  type EventDatabase,
  KINDS,
  STATE_VIEW,
} from '../../../operator/src/api/index.ts';
import { Channel, GrpcComponents, GrpcDatabases, GrpcKeys } from '../../../operator/src/client/index.ts';
import {
  CONFIG_MAP,
  ControllerLoop,
  hasCode,
  type Kind,
  pathOf,
  SECRET,
  type Secret,
  systemRuntime,
  textIn,
} from '../../../operator/src/kube/index.ts';
import type { ResourcePorts } from '../../../operator/src/resources.ts';
import { hashingView } from '../../support/components/views.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST_KEY, startGuardedNode } from '../../support/guarded-node.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { clientsOf, startControllers } from '../../support/operator/controllers.ts';
import { startRealServer } from '../api/real-server.ts';

const CHART = join(resolve(import.meta.dirname, '../../..'), 'charts/cairn-crds');
const NAMESPACE = 'default';
const CLUSTER = { clusterRef: { name: 'events' } };
const OBJECTS = [
  [EVENT_DATABASE, 'shop', { ...CLUSTER, reclaimPolicy: 'Delete' }],
  [EVENT_ACCESS, 'orders', { ...CLUSTER, grants: [{ role: 'deployer', databases: { names: ['shop'] } }] }],
  [
    STATE_VIEW,
    'view',
    {
      databases: { selector: {} },
      source: { configMap: { name: 'view' } },
      contentType: 'application/json',
      events: [{ stream: 'accounts' }],
      reclaimPolicy: 'Delete',
    },
  ],
] as const;

describe.skipIf(lacksTool('kube'))('controllers on a real API server', () => {
  it('create a database, a key and a State View, and delete them (KD1, KE1, KP1)', { timeout: 240_000 }, async () => {
    const { api, helm } = await startRealServer();
    await helm('install', 'crds', CHART);
    for (const kind of KINDS) await eventually(() => api.list(pathOf(kind)));
    const { server: node } = await startGuardedNode('--peer-port=0');
    using channel = new Channel(node.grpc, { key: FIRST_KEY });
    const wasm = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
    const make = (kind: Kind, name: string, rest: object): Promise<unknown> =>
      api.create(pathOf(kind, { namespace: NAMESPACE }), {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name },
        ...rest,
      });
    const place = (name: string) => ({ namespace: NAMESPACE, name });
    await make(CONFIG_MAP, 'view', { binaryData: { 'component.wasm': wasm.toString('base64') } });
    await make(CAIRN_CLUSTER, 'events', { spec: { version: '0.2.0' } });
    const condition = { type: 'Ready', status: 'True', reason: 'Test', message: '', observedGeneration: 1 };
    const status = { conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    await api.patch(`${pathOf(CAIRN_CLUSTER, place('events'))}/status`, { status }, 'merge');
    for (const [kind, name, spec] of OBJECTS) await make(kind, name, { spec });

    const over = new AbortController();
    const { signal } = over;
    const failures: string[] = [];
    const control: ResourcePorts['control'] = (controller) => {
      const onPass = ({ key, failure }: { key: string; failure: Error | undefined }): void =>
        void (failure && failures.push(`${controller.name} ${key}: ${failure.message}`));
      const loop = new ControllerLoop(controller, { runtime: systemRuntime, mayAct: () => !signal.aborted, onPass });
      void loop.run(controller.sources, signal);
    };
    const onError = (error: unknown): void => void failures.push(String(error));
    startControllers({ api, signal, onError, control }, clientsOf(channel));
    await eventually(async () => {
      for (const [kind, name] of OBJECTS) {
        const found = await api.get<EventDatabase>(pathOf(kind, place(name)));
        const ready = found.status?.conditions?.find(({ type }) => type === 'Ready');
        expect([kind.kind, ready?.status, failures]).toEqual([kind.kind, 'True', failures]);
      }
    });

    const secret = await api.get<Secret>(pathOf(SECRET, place('orders')));
    using own = new Channel(node.grpc, { key: textIn(secret, 'api-key') });
    const id = { database: 'shop', kind: 'StateView', name: 'view' } as const;
    expect(await new GrpcComponents(own).list(id)).toMatchObject([{ version: 1, isActive: true }]);

    for (const [kind, name] of OBJECTS.toReversed()) {
      await api.delete(pathOf(kind, place(name)));
      await eventually(async () => {
        const gone = await api.get(pathOf(kind, place(name))).catch((error: unknown) => error);
        expect(hasCode(gone, 404)).toBe(true);
      });
    }
    over.abort();
    expect(await new GrpcDatabases(channel).find('shop')).toBeUndefined();
    expect(await new GrpcKeys(channel).list()).toEqual([]);
    expect(failures.filter((failure) => !failure.includes('409'))).toEqual([]);
  });
});
