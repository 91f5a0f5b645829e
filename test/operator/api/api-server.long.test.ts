// Goal: the API server accepts the definitions of the custom resources, rejects invalid objects with a helpful message,
// sets defaults, and prints readable tables. Method: a real API server, on which helm installs the chart cairn-crds; no
// controllers run. Objects are written with `dryRun` unless the test reads them again.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type CairnCluster, KINDS } from '../../../operator/src/api/index.ts';
import { definitionOf } from '../../../scripts/crds/open-api.ts';
import { type Json, merged } from '../../support/kube-api/store.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { CASES, REFUSED, SMALLEST } from './cases.ts';
import { type RealServer, startRealServer } from './real-server.ts';
import { allFields, allRules } from './walk.ts';

const BASE = '/apis/cairn.dev/v1alpha1/namespaces/default';
const DRY = 'dryRun=All&fieldValidation=Strict';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ROOT = resolve(import.meta.dirname, '../../..');
const CHART = join(ROOT, 'charts/cairn-crds');
const PAGE = readFileSync(join(ROOT, 'docs/operations/operator.md'), 'utf8');

let server: RealServer;

function pathOf(kind: string): string {
  const plural = KINDS.find((each) => each.kind === kind)?.plural ?? '';
  return `${BASE}/${plural}`;
}

function identityOf(kind: string, name: string): Json {
  return { apiVersion: 'cairn.dev/v1alpha1', kind, metadata: { name } };
}

function objectOf(kind: string, name: string, spec: Json): Json {
  return { ...identityOf(kind, name), spec: merged(SMALLEST[kind] ?? {}, spec) };
}

/** Error of the API server for a request; empty when it accepts it. */
async function refusal(sent: Promise<unknown>): Promise<string> {
  return sent.then(
    () => '',
    (error: unknown) => String(error),
  );
}

function tried(kind: string, name: string, spec: Json): Promise<string> {
  return refusal(server.api.create(`${pathOf(kind)}?${DRY}`, objectOf(kind, name, spec)));
}

describe.skipIf(lacksTool('kube'))('the custom resources', () => {
  beforeAll(async () => {
    server = await startRealServer();
    for (const kind of KINDS) await server.api.create(`${DEFINITIONS}?${DRY}`, definitionOf(kind));
    await server.helm('install', 'crds', CHART);
    for (const { kind } of KINDS) await vi.waitFor(() => server.api.list(pathOf(kind)), { timeout: 30_000 });
  }, 120_000);

  describe('on the API server', () => {
    it('accepts each definition unchanged, and finds no fault in its schema', async () => {
      for (const kind of KINDS) {
        const { metadata, spec } = definitionOf(kind);
        const found = await server.api.get<{
          readonly spec: Json;
          readonly status: { readonly conditions: readonly Json[] };
        }>(`${DEFINITIONS}/${metadata.name}`);
        // An API server may drop unknown fields, such as those of rules.
        expect(found.spec).toMatchObject(spec);
        expect(found.status.conditions.filter(({ type }) => type === 'NonStructuralSchema')).toEqual([]);
      }
    });

    it('has a case for each rule', () => {
      const keys = (rules: readonly { readonly kind: string; readonly message: string }[]): readonly string[] =>
        [...new Set(rules.map(({ kind, message }) => `${kind}: ${message}`))].toSorted();
      expect(keys(CASES)).toEqual(keys(allRules()));
    });

    it.each(CASES.map((each, at) => ({ ...each, at })))('$kind: $message ($at)', async (each) => {
      const { kind, message, from, passes, breaks, names, at } = each;
      const name = `case-${at}`;
      const isUpdate = from !== undefined;
      if (isUpdate) await server.api.create(`${pathOf(kind)}?fieldValidation=Strict`, objectOf(kind, name, from));
      const outcome = (spec: Json, newName = name): Promise<string> =>
        isUpdate
          ? refusal(server.api.patch(`${pathOf(kind)}/${name}?${DRY}`, { spec }, 'merge'))
          : tried(kind, newName, spec);
      expect(await outcome(passes, names?.passes)).toBe('');
      expect(await outcome(breaks, names?.breaks)).toContain(message);
    });

    it.each(REFUSED)('rejects of a %s %j', async (kind, spec, message) => {
      expect(await tried(kind, 'refused', spec)).toContain(message);
    });

    it('accepts the objects of docs/operations/operator.md; the cluster has at most fifteen lines', async () => {
      const blocks = [...PAGE.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, text = '']) => text);
      const objects = blocks.flatMap((text) =>
        parseAllDocuments(text).map((document) => {
          const object: Json = document.toJS();
          return object;
        }),
      );
      expect(new Set(objects.map(({ kind }) => kind))).toEqual(new Set(KINDS.map(({ kind }) => kind)));
      for (const object of objects) {
        expect(await refusal(server.api.create(`${pathOf(String(object['kind']))}?${DRY}`, object))).toBe('');
      }
      const [first = ''] = blocks;
      expect(first).toContain('kind: CairnCluster');
      expect(first.trim().split('\n').length).toBeLessThanOrEqual(15);
    });

    it('sets secure defaults when only a version is given', async () => {
      const { spec }: CairnCluster = await server.api.create(
        `${pathOf('CairnCluster')}?${DRY}`,
        objectOf('CairnCluster', 'events', {}),
      );
      expect(spec).toMatchObject({ replicas: 3, reclaimPolicy: 'Retain', peers: {}, repair: { policy: 'Automatic' } });
      expect([spec.auth.enabled, spec.tls.disabled, spec.network.policy.enabled]).toEqual([true, false, true]);
      expect(spec.storage).toEqual({ size: '20Gi' });
      expect(spec.resources.limits).toEqual({ memory: '1Gi' });
      expect(spec.placement.spread).toEqual({ node: 'DoNotSchedule', zone: 'ScheduleAnyway' });
      expect(spec.update).toEqual({
        strategy: 'Rolling',
        paused: false,
        drainTimeoutSeconds: 80,
        stableSeconds: 30,
        finalize: 'Automatic',
        finalizeAfterSeconds: 3600,
      });
    });

    it('keeps an overlay of the pod template as it was written', async () => {
      const podTemplate = { spec: { containers: [{ name: 'cairn', stdin: null, unknown: { a: [1, 'b'] } }] } };
      const { spec }: CairnCluster = await server.api.create(
        `${pathOf('CairnCluster')}?${DRY}`,
        objectOf('CairnCluster', 'events', { podTemplate }),
      );
      expect(spec.podTemplate).toEqual(podTemplate);
    });
  });

  describe('under kubectl', () => {
    const DIGEST = '0123456789ab';
    const READY = {
      type: 'Ready',
      status: 'True',
      reason: 'AllGood',
      message: 'All is well.',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const STATUS: Readonly<Record<string, Json>> = {
      CairnCluster: { version: '0.2.0', replicas: 3, readyReplicas: 3, selector: 'a=b', conditions: [READY] },
      EventDatabase: { databaseName: 'shop', databaseID: '019c-1', conditions: [READY] },
      EventAccess: { secretName: 'orders-key', rotatedAt: '2026-01-01T00:00:00Z', conditions: [READY] },
    };
    const OF_COMPONENT = { databasesTotal: 2, databasesReady: 1, shortDigest: DIGEST, conditions: [READY] };

    it.each([
      [
        'cairnclusters',
        'CairnCluster',
        /^NAME +READY +REASON +VERSION +MEMBERS +AGE\nshown +True +AllGood +0\.2\.0 +3 +\d+s$/,
      ],
      [
        'edb',
        'EventDatabase',
        /^NAME +CLUSTER +DATABASE +READY +REASON +ID +AGE\nshown +events +shop +True +AllGood +019c-1 +\d+s$/,
      ],
      [
        'sv',
        'StateView',
        /^NAME +DATABASES +UPDATED +DIGEST +READY +REASON +AGE\nshown +2 +1 +0123456789ab +True +AllGood +\d+s$/,
      ],
      [
        'sch',
        'StateChange',
        /^NAME +DATABASES +UPDATED +DIGEST +READY +REASON +AGE\nshown +2 +1 +0123456789ab +True +AllGood +\d+s$/,
      ],
      [
        'prs',
        'Presenter',
        /^NAME +DATABASES +UPDATED +DIGEST +READY +REASON +AGE\nshown +2 +1 +0123456789ab +True +AllGood +\d+s$/,
      ],
      [
        'eac',
        'EventAccess',
        /^NAME +CLUSTER +SECRET +READY +REASON +ROTATED +AGE\nshown +events +orders-key +True +AllGood +\S+ +\d+s$/,
      ],
    ])('get %s shows the important columns', async (name, kind, expected) => {
      await server.api.create(pathOf(kind), objectOf(kind, 'shown', {}));
      const status = STATUS[kind] ?? OF_COMPONENT;
      const path = `${pathOf(kind)}/shown/status?fieldManager=test&fieldValidation=Strict`;
      await server.api.patch(path, { ...identityOf(kind, 'shown'), status }, 'apply');
      expect((await server.kubectl('get', name, 'shown')).trim()).toMatch(expected);
    });

    it('get cairn lists the objects of all kinds', async () => {
      const names = await server.kubectl('get', 'cairn', '--output=name');
      for (const { kind } of KINDS) expect(names).toContain(`${kind.toLowerCase()}.cairn.dev/shown`);
    });

    it('scale changes the replicas of a cluster, and explains a refusal', async () => {
      await server.kubectl('scale', 'cairncluster/shown', '--replicas=5');
      const { spec, status } = await server.api.get<{ readonly spec: Json; readonly status: Json }>(
        `${pathOf('CairnCluster')}/shown/scale`,
      );
      expect({ spec, status }).toEqual({ spec: { replicas: 5 }, status: { replicas: 3, selector: 'a=b' } });
      const refused = await refusal(server.kubectl('scale', 'cairncluster/shown', '--replicas=4'));
      expect(refused).toContain('replicas must be 1, 3, 5 or 7');
    });

    it('explain has a description of every field', async () => {
      const document = await server.api.get<{
        readonly components: { readonly schemas: Readonly<Record<string, Json>> };
      }>('/openapi/v3/apis/cairn.dev/v1alpha1');
      const described = JSON.stringify(document.components.schemas);
      for (const { field } of allFields()) expect(described).toContain(JSON.stringify(field.doc).slice(1, -1));
      const explained = await server.kubectl('explain', 'ccl.spec.storage.autoGrow.thresholdPercent');
      expect(explained).toContain('Share of the volume that is in use when the operator grows it.');
      expect(await server.kubectl('explain', 'stateview.spec')).toContain('-required-');
    });

    it('apply merges the fields of two owners into lists by their keys', async () => {
      const path = `${pathOf('CairnCluster')}/shown`;
      const member = (name: string): Json => ({
        ...identityOf('CairnCluster', 'shown'),
        status: { members: [{ name, ready: true }] },
      });
      await server.api.patch(`${path}/status?fieldManager=one`, member('shown-0'), 'apply');
      const both: CairnCluster = await server.api.patch(`${path}/status?fieldManager=two`, member('shown-1'), 'apply');
      expect(both.status?.members?.map(({ name }) => name)).toEqual(['shown-0', 'shown-1']);
    });
  });

  it('are upgraded by helm, and left with their objects when it uninstalls', async () => {
    await server.helm('upgrade', 'crds', CHART, '--set', 'crds.labels.team=data');
    await server.helm('uninstall', 'crds');
    const labelled = await server.kubectl('get', 'crd', '--selector=team=data', '--output=name');
    expect(labelled.trim().split('\n')).toHaveLength(KINDS.length);
    expect(await server.kubectl('get', 'cairncluster', 'shown', '--output=name')).toContain('shown');
  });
});
