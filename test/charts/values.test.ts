// Goal: each value of the chart has the effect that its documentation describes. Method: helm renders the chart with
// and without it.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownSettings } from '../../scripts/chart/settings.ts';
import { readInvocation } from '../../src/main/settings/config.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { environmentOf } from './checks.ts';
import { CHART, helm, rendered, valuesOf, withValues } from './helm.ts';
import { idOf, type KubeObject, ofKind, parseObjects } from './objects.ts';

const MONITORING = ['--api-versions', 'monitoring.coreos.com/v1'];

function objectsWith(values: object, ...args: readonly string[]): readonly KubeObject[] {
  return parseObjects(rendered(...withValues(values), ...args));
}

function kinds(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ kind }) => kind);
}

/** Pod template as text. Pods restart when it changes. */
function podTemplate(values: object): string {
  const [set] = ofKind(
    objectsWith({ auth: { existingSecret: 'a' }, peer: { existingSecret: 'b' }, ...values }),
    'StatefulSet',
  );
  return JSON.stringify(set?.spec?.template);
}

function issuer(name: string): object {
  return { security: 'certManager', certManager: { issuerRef: { name } } };
}

const ROUTE = { gateway: { parentRefs: [{ name: 'g' }], tlsRoute: { enabled: true } } };

describe.skipIf(lacksTool('kube'))('the chart', () => {
  it.each<[object, string]>([
    // Rejected by the schema.
    [{ replicas: 0 }, 'minimum'],
    [{ replica: 3 }, "additional properties 'replica' not allowed"],
    [{ image: { tag: 'latest' } }, 'image/tag'],
    [{ image: { digest: 'sha256:12' } }, 'image/digest'],
    [{ config: { grpcPort: 1 } }, "additional properties 'grpcPort' not allowed"],
    [{ config: { logLevel: false } }, 'config/logLevel'],
    [{ config: { copies: 8 } }, 'config/copies'],
    [{ config: { rateLimitPerSecond: 0 } }, 'config/rateLimitPerSecond'],
    [{ perPod: { port: 0 } }, 'perPod/port'],
    [{ peer: { security: 'plain' } }, 'peer/security'],
    [{ nameOverride: 'b'.repeat(64) }, 'nameOverride'],
    [{ nameOverride: 'a: b' }, 'nameOverride'],
    [{ clusterDomain: 'a: b' }, 'clusterDomain'],
    // Rejected by validate.yaml.
    [{ commonLabels: { 'app.kubernetes.io/name': 'a' } }, 'commonLabels has app.kubernetes.io/name'],
    [{ podLabels: { 'app.kubernetes.io/instance': 'a' } }, 'podLabels has app.kubernetes.io/instance'],
    ...['a.b', '1a', 'A', '-'].map((fullnameOverride): [object, string] => [
      { fullnameOverride },
      'set fullnameOverride',
    ]),
    [{ ports: { http: 50_051 } }, 'ports.grpc and ports.http are both 50051'],
    [{ ports: { peer: 9464 } }, 'ports.metrics and ports.peer are both 9464'],
    [{ tls: { security: 'certManager' } }, 'tls.certManager.issuerRef.name is empty'],
    [{ peer: { security: 'tlsSecret' } }, 'peer.existingSecret is empty'],
    [{ tls: { clientAuth: 'require' } }, 'tls.security is none'],
    [{ tls: { ...issuer('a'), clientAuth: 'require' } }, 'tls.clientCaSecret is empty'],
    [{ auth: { enabled: false, grants: { a: ['admin'] } } }, 'auth.enabled is false'],
    [{ gateway: { grpcRoute: { enabled: true } } }, 'gateway.parentRefs is empty'],
    [{ perPod: { domain: 'a.example' }, config: { advertiseOutside: '*.a.example:1' } }, 'both set'],
    [ROUTE, 'each pod needs a Service and a name'],
    [{ ...ROUTE, perPod: { enabled: true, domain: 'c.example' } }, 'TLS ends at the nodes'],
    [{ ingress: { enabled: true } }, 'no host name'],
    [{ ingress: { enabled: true, mcpHostnames: ['a.example'] }, mcp: { enabled: false } }, 'mcp.enabled is false'],
    [{ peer: { caConfigMap: 'a' } }, 'peer.security is secret'],
    [{ gateway: { httpRoute: { mcpPath: '/mcp' } }, mcp: { enabled: false } }, 'mcp.enabled is false'],
    [{ monitoring: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } } }, 'read twice'],
    [{ terminationGracePeriodSeconds: 119 }, 'at least 40 s more than drain.timeoutSeconds'],
    [{ drain: { lingerSeconds: 81 } }, 'and drain.lingerSeconds'],
    [{ podDisruptionBudget: { maxUnavailable: 2 } }, 'of 3 nodes more than half must stay'],
  ])('refuses %j', (values, message) => {
    const { status, errors } = helm('template', 'shop', CHART, ...withValues(values));
    expect(errors).toContain(message);
    expect(status).not.toBe(0);
  });

  it.each(['123', '1e3', 'true', 'null'])('accepts %s as the name of a release and of a namespace', (name) => {
    const objects = parseObjects(
      helm('template', name, CHART, '-n', name, ...withValues({ fullnameOverride: 'yes' })).output,
    );
    expect(objects.map(({ metadata }) => metadata.namespace)).toEqual(objects.map(() => name));
    expect(objects.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'])).toEqual(
      objects.map(() => name),
    );
    const [set] = ofKind(objects, 'StatefulSet');
    expect([set?.metadata.name, set?.spec?.template?.spec?.serviceAccountName]).toEqual(['yes', 'yes']);
    expect(set?.spec?.selector).toMatchObject({ matchLabels: { 'app.kubernetes.io/instance': name } });
  });

  it('accepts one number for two ports when only one of them is open', () => {
    expect(kinds(objectsWith({ mcp: { enabled: false }, ports: { mcp: 3000 } }))).toContain('StatefulSet');
  });

  it('joins IPv6 addresses', () => {
    const seeds = ['[fd00::1]:50052', '[fd00::2]:50052'];
    const founding = objectsWith({ cluster: { join: seeds } }).find(
      ({ metadata }) => metadata.name === 'shop-cairn-founding',
    );
    expect(founding?.data).toMatchObject({ CAIRN_JOIN: seeds.join(',') });
  });

  it.each<object>([
    { replicas: 5 },
    { cluster: { bootstrap: 'never', join: ['a:1'] } },
    { service: { type: 'LoadBalancer', annotations: { a: 'b' } } },
    { perPod: { enabled: true }, ingress: { enabled: true, hostnames: ['a.example'] } },
    { networkPolicy: { clients: [{ podSelector: {} }], egress: { restricted: true } } },
    {
      podDisruptionBudget: { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      updateStrategy: { type: 'OnDelete' },
      minReadySeconds: 60,
    },
    { monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: false } } },
    { commonLabels: { a: 'b' }, commonAnnotations: { a: 'b' } },
    { persistence: { size: '30Gi', whenScaled: 'Delete' } },
  ])('restarts no pod for %j', (values) => {
    expect(podTemplate(values)).toBe(podTemplate({}));
  });

  it.each<object>([
    { auth: { existingSecret: 'a', grants: { clerks: ['writer'] } } },
    { config: { logLevel: 'debug' } },
    { image: { tag: '0.2.0' } },
    { resources: { limits: { memory: '2Gi' } } },
    { podAnnotations: { restarted: 'today' } },
  ])('restarts pods for %j, which a node reads at its start', (values) => {
    expect(podTemplate(values)).not.toBe(podTemplate({}));
  });

  it('restarts pods when grants that nodes have read change', () => {
    const grants = (role: string): object => ({ auth: { existingSecret: 'a', grants: { clerks: [role] } } });
    expect(podTemplate(grants('reader'))).not.toBe(podTemplate(grants('writer')));
  });

  it('passes every setting of config to the node as it was written', () => {
    const own = ownSettings();
    const written = (text: string): string | number => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);
    const config = Object.fromEntries(own.map(({ key, defaultText }) => [key, written(defaultText)]));
    const environment = environmentOf(objectsWith({ config }));
    expect(environment).toMatchObject(
      Object.fromEntries(own.map(({ variable, defaultText }) => [variable, defaultText])),
    );
    expect(readInvocation([], environment)).toMatchObject({ kind: 'ok', value: { kind: 'run' } });
  });

  it('reads on and off without quotes as words', () => {
    const environment = environmentOf(parseObjects(rendered('--values', valuesOf('settings'))));
    expect(environment['CAIRN_AUDIT_LOG']).toBe('off');
    expect(environment['CAIRN_GUEST_FUEL']).toBe('50000000000');
    expect(environment['CAIRN_TRACE_SAMPLE_RATIO']).toBe('0.25');
  });

  it('generates two secrets, which differ between clusters', () => {
    const secrets = (): readonly string[] =>
      ofKind(parseObjects(helm('template', 'shop', CHART).output), 'Secret').flatMap(({ data }) =>
        Object.values(data ?? {}).map((text) => Buffer.from(text, 'base64').toString()),
      );
    const made = [...secrets(), ...secrets()];
    expect(new Set(made).size).toBe(4);
    for (const secret of made) expect(secret).toMatch(/^[A-Za-z0-9]{64}$/);
  });

  it.each([1, 2, 3])(
    'has a disruption budget only when the cluster tolerates the loss of a pod, with %d replicas',
    (replicas) => {
      expect(kinds(objectsWith({ replicas })).includes('PodDisruptionBudget')).toBe(replicas === 3);
    },
  );

  it('has objects of Prometheus when the cluster serves their kinds', () => {
    expect(kinds(objectsWith({}))).not.toContain('ServiceMonitor');
    expect(kinds(objectsWith({}, ...MONITORING))).toContain('ServiceMonitor');
    const off = { monitoring: { serviceMonitor: { enabled: false } } };
    expect(kinds(objectsWith(off, ...MONITORING))).not.toContain('ServiceMonitor');
  });

  it('keeps names within their limits when the name of the release has its maximum length', () => {
    const { output } = helm(
      'template',
      'r'.repeat(53),
      CHART,
      ...withValues({ replicas: 10, perPod: { enabled: true } }),
    );
    const tooLong = parseObjects(output).filter(
      ({ kind, metadata }) => metadata.name.length > (kind === 'StatefulSet' ? 52 : 63),
    );
    expect(tooLong.map(idOf)).toEqual([]);
  });

  it('requires a minimum release of Kubernetes', () => {
    const { errors } = helm('template', 'shop', CHART, '--kube-version', '1.28.0');
    expect(errors).toContain('chart requires kubeVersion: >=1.29');
    expect(helm('template', 'shop', CHART, '--kube-version', '1.29.0').status).toBe(0);
  });

  it('warns of each unsafe value, and of no other', () => {
    const warnings = (...args: readonly string[]): readonly string[] =>
      helm('install', 'shop', CHART, '--dry-run=client', ...args).output.match(/(?<=WARNING: )\S+/g) ?? [];
    expect(warnings()).toEqual(['tls.security']);
    expect(warnings('--values', valuesOf('cert-manager'))).toEqual(['peer.prefer']);
    const all = ['with', 'auth.enabled', 'peer.security', 'tls.security', 'persistence.enabled'];
    expect(warnings('--values', valuesOf('open'))).toEqual(all);
  });
});

describe.skipIf(lacksTool('kube'))('alerts and dashboards of the chart', () => {
  /** Copies the chart, with other files of alerts and dashboards. */
  function chartWith(dir: string, files: Readonly<Record<string, string>>): string {
    const chart = join(dir, 'cairn');
    const isContent = (path: string): boolean => !/\/(?:rules|dashboards)(?:\/|$)/.test(path);
    cpSync(CHART, chart, { recursive: true, filter: isContent });
    for (const folder of ['rules', 'dashboards']) mkdirSync(join(chart, folder));
    for (const [path, content] of Object.entries(files)) writeFileSync(join(chart, path), content);
    return chart;
  }

  function objectsOf(chart: string, monitoring: object): readonly KubeObject[] {
    const { output, errors } = helm('template', 'shop', chart, ...MONITORING, ...withValues({ monitoring }));
    expect(errors).toBe('');
    return parseObjects(output);
  }

  it('are absent when the chart has no files of them', () => {
    using dir = tempDir();
    const found = kinds(objectsOf(chartWith(dir.path, {}), { dashboards: { enabled: true } }));
    expect(found).not.toContain('PrometheusRule');
    expect(found.filter((kind) => kind === 'ConfigMap')).toHaveLength(1);
  });

  it('link to the address where runbooks are published', () => {
    const rulesWith = (prometheusRule: object): string =>
      JSON.stringify(ofKind(objectsOf(CHART, { prometheusRule }), 'PrometheusRule')[0]?.spec);
    const own = rulesWith({});
    expect(own).toContain('"runbook_url":"docs/operations/runbooks/no-leader.md"');
    const published = own.replaceAll('docs/operations/runbooks/', 'https://wiki.example/');
    expect(rulesWith({ runbooks: 'https://wiki.example/' })).toBe(published);
  });

  it('equal their files, without disabled alerts', () => {
    using dir = tempDir();
    const rule = (alert: string): object => ({ alert, expr: 'up == 0', annotations: { summary: '{{ $labels.pod }}' } });
    const groups = [{ name: 'nodes', rules: [rule('A'), rule('B'), { record: 'r', expr: '1' }] }];
    const dashboard = '{\n  "title": "{{ pod }}",\n  "panels": [1e3]\n}\n';
    const chart = chartWith(dir.path, {
      'rules/nodes.yaml': JSON.stringify({ groups }),
      'rules/nodes.test.yaml': 'tests: []',
      'dashboards/overview.json': dashboard,
    });
    const found = objectsOf(chart, { prometheusRule: { disabled: ['A'] }, dashboards: { enabled: true } });
    const [rules] = ofKind(found, 'PrometheusRule');
    expect(rules?.spec).toEqual({ groups: [{ name: 'nodes', rules: [rule('B'), { record: 'r', expr: '1' }] }] });
    const overview = ofKind(found, 'ConfigMap').find(
      ({ metadata }) => metadata.name === 'shop-cairn-dashboard-overview',
    );
    expect(overview?.data?.['overview.json']?.trim()).toBe(dashboard.trim());
    expect(overview?.metadata.labels?.['grafana_dashboard']).toBe('1');
  });
});
