// Goal: each check of checks.ts finds its fault. Method: a fault is put into a render without faults.
import { expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { CHECKS, type Render } from './checks.ts';
import { rendered, valuesOf, withValues } from './helm.ts';
import { parseObjects } from './objects.ts';

const ALL = [
  ...['gateway', 'monitoring'].flatMap((name) => ['--values', valuesOf(name)]),
  ...withValues({
    auth: { grants: { a: ['admin'] } },
    ingress: { enabled: true, hostnames: ['shop.example'] },
    tls: { security: 'certManager', certManager: { issuerRef: { name: 'ours' } } },
  }),
];

const OF_OTHERS = 'kinds of other operators are as their definitions say';

/** Name of the check, pattern in the render, and its replacement. */
const FAULTS: readonly (readonly [keyof typeof CHECKS, RegExp, string])[] = [
  ['nothing is left of templates', /maxUnavailable: 1/, 'maxUnavailable: <no value>'],
  ['names are valid and unique', /name: "shop-cairn-headless"/, 'name: Shop'],
  ['names are valid and unique', /name: "shop-cairn-headless"/, 'name: shop-cairn'],
  ['names are valid and unique', /namespace: "prod"/, 'namespace: other'],
  ['labels are complete', /app.kubernetes.io\/part-of: cairn/, 'a: b'],
  ['labels are complete', / {8}app.kubernetes.io\/part-of: cairn/, '        a: b'],
  ['pods are restricted', /runAsNonRoot: true/, 'runAsNonRoot: false'],
  ['pods are restricted', /type: RuntimeDefault/, 'type: Unconfined'],
  ['pods are restricted', /drop:\s+- ALL/, 'add: [ALL]'],
  ['pods are restricted', /readOnlyRootFilesystem: true/, 'a: true'],
  ['pods are restricted', /allowPrivilegeEscalation: false/, 'a: true'],
  ['pods are restricted', /emptyDir: {}/, 'hostPath: {path: /}'],
  ['pods are restricted', /automountServiceAccountToken: false\n {6}containers/, 'containers'],
  ['images have a release and a limit of memory', /image: cairn:\S+/, 'image: cairn:latest'],
  ['images have a release and a limit of memory', /image: cairn:\S+/, 'image: cairn'],
  ['images have a release and a limit of memory', /limits:\s+memory: 1Gi/, 'limits: {}'],
  ['ports, variables, volumes and mounts are there once', /name: CAIRN_GRPC_PORT/, 'name: CAIRN_HTTP_PORT'],
  ['ports, variables, volumes and mounts are there once', /containerPort: 3000/, 'containerPort: 3001'],
  ['selectors match the pods of the release', /(maxUnavailable: 1[^]*?component): node/, '$1: other'],
  ['selectors match the pods of the release', /(selector:\s+matchLabels:)/, '$1\n      helm.sh/chart: cairn-0.1.0'],
  ['selectors match the pods of the release', /pod-name: shop-cairn-1/, 'pod-name: shop-cairn-7'],
  ['monitors match one Service or the pods', /(kind: ServiceMonitor[^]*matchLabels:[^]*?component): node/, '$1: pod'],
  ['monitors match one Service or the pods', /port: metrics\n {6}path/, 'port: metric\n      path'],
  ['ports are found by their names', /targetPort: grpc/, 'targetPort: rpc'],
  ['ports are found by their names', /port: metrics\n {12}scheme/, 'port: admin\n            scheme'],
  ['ports are found by their names', /- port: peer/, '- port: raft'],
  ['routes lead to Services', /(kind: TLSRoute[^]*?port: )50051/, '$13000000'],
  ['routes lead to Services', /(kind: Ingress[^]*?port: {name: )http/, '$1web'],
  ['what is referred to is there', /secretName: shop-cairn-peer/, 'secretName: shop-cairn-other'],
  ['what is referred to is there', /name: shop-cairn-grants(?=\n {8}name)/, 'name: lost'],
  [OF_OTHERS, /scrapeTimeout: 10s/, 'scrapeTimeouts: 10s'],
  [OF_OTHERS, /interval: 30s/, 'interval: 30'],
  [OF_OTHERS, /for: 1m/, 'for: a minute'],
  [OF_OTHERS, /secretName: our-certificate\n {2}issuerRef/, 'issuerRef'],
  [OF_OTHERS, /rotationPolicy: Always/, 'rotationPolicy: Daily'],
  [OF_OTHERS, /(kind: GRPCRoute[^]*?port: )50051/, '$1"50051"'],
  [OF_OTHERS, /type: PathPrefix/, 'type: Prefix'],
  [OF_OTHERS, /(kind: TLSRoute[^]*?)hostnames/, '$1hosts'],
  [OF_OTHERS, /kind: TLSRoute/, 'kind: TLSRoutes'],
  ['files of settings are mounted', /value: .etc.cairn.peer.peer-secret/, 'value: /etc/cairn/peer/other'],
  ['files of settings are mounted', /mountPath: .etc.cairn.grants/, 'mountPath: /etc/other'],
  ['a node or an operator starts with its settings', /name: CAIRN_GRPC_PORT/, 'name: CAIRN_GRPC_PORTS'],
  ['a node or an operator starts with its settings', /CAIRN_JOIN: "shop-cairn-0/, 'CAIRN_JOIN: "shop-cairn-4'],
];

function renderOf(text: string): Render {
  return { text, objects: parseObjects(text), values: 'our-certificate' };
}

it.skipIf(lacksTool('kube')).each(FAULTS)('%s: finds %s replaced by %s', (name, what, instead) => {
  const text = rendered(...ALL);
  const faulty = text.replace(what, instead);
  expect(faulty).not.toBe(text);
  expect(CHECKS[name]?.(renderOf(text))).toEqual([]);
  expect(CHECKS[name]?.(renderOf(faulty))).not.toEqual([]);
});
