// Goal: network policies are converted to the rules that Kubernetes defines. Method: a table of policies over a few
// pods, and the rules of the one chain that each makes. kubelet.long.test.ts checks that nft enforces them.
import { expect, it } from 'vitest';
import { policyTable } from './network/policies.ts';
import type { NetworkPolicy, Pod, Resource } from './objects.ts';

function pod(name: string, namespace: string, address: string): Pod {
  const metadata = { name, namespace, uid: `${namespace}-${name}-1234`, resourceVersion: '1', labels: { app: name } };
  const ports = [{ name: 'peer', containerPort: 50_052 }];
  return { metadata, spec: { containers: [{ name, ports }] }, status: { phase: 'Running', podIP: address } };
}

function space(name: string): Resource {
  return { metadata: { name, namespace: '', uid: name, resourceVersion: '1', labels: { kind: name } } };
}

const PODS = [pod('db', 'a', '10.244.1.1'), pod('web', 'a', '10.244.1.2'), pod('db', 'b', '10.244.1.3')];

/** The rules of the chains of a policy for `db`, without the last one, which drops packets. */
function rules(spec: object): readonly string[] {
  const podSelector = { matchLabels: { app: 'db' } };
  const metadata = { name: 'policy', namespace: 'a', uid: 'policy', resourceVersion: '1' };
  const policies = [{ metadata, spec: { podSelector, ...spec } }] satisfies NetworkPolicy[];
  const table = policyTable({ policies, pods: PODS, namespaces: [space('a'), space('b')] });
  const chains = [...table.matchAll(/chain (?:in|e)gress-\S+ \{ (.*)drop; \}/g)];
  return chains.map(([, body = '']) => body.trim());
}

const WEB = { podSelector: { matchLabels: { app: 'web' } } };
const ALL_OF_B = { namespaceSelector: { matchLabels: { kind: 'b' } } };

it.each([
  ['nothing comes in', { policyTypes: ['Ingress'] }, ['']],
  ['everything comes in', { ingress: [{}] }, ['return;']],
  ['a named port of its own', { ingress: [{ ports: [{ port: 'peer' }] }] }, ['tcp dport 50052 return;']],
  ['a pod of its namespace', { ingress: [{ from: [WEB] }] }, ['ip saddr { 10.244.1.2 } return;']],
  ['pods of another namespace', { ingress: [{ from: [ALL_OF_B] }] }, ['ip saddr { 10.244.1.3 } return;']],
  ['a selector that nobody matches', { ingress: [{ from: [{ ...WEB, ...ALL_OF_B }] }] }, ['']],
  [
    'a port out to a pod',
    { policyTypes: ['Egress'], egress: [{ to: [WEB], ports: [{ port: 80 }] }] },
    ['ip daddr { 10.244.1.2 } tcp dport 80 return;'],
  ],
])('a policy allows %s', (_what, spec, expected) => {
  expect(rules(spec)).toEqual(expected);
});

it('a pod that no policy selects has no chain', () => {
  const table = policyTable({ policies: [], pods: PODS, namespaces: [] });
  expect(table).not.toContain('vmap');
});
