// Goal: an upgrade of the operator restarts no pod (KO2). Method: the templates of fixed specs have fixed digests, and
// no fact changes a template.
//
// When a digest differs, every cluster would restart its pods as soon as the new operator runs. Make the change depend
// on `spec.version` instead: a template of a release that is out stays as it is, and the change comes with the next
// one, whose upgrade replaces the pods anyway. Then add that release to this table. A digest is replaced only while no
// release of the operator has had it.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { objectsOf } from '../../../operator/src/objects/index.ts';
import { clusterOf, factsOf } from './clusters.ts';

const EVERYTHING = {
  image: { repository: 'registry.example.com/cairn', pullSecretNames: ['registry'] },
  tls: { clientCertificates: { mode: 'Require', caSecretName: 'clients' } },
  auth: { roles: [{ name: 'clerks', grants: [{ role: 'writer', databases: 'shop-*' }] }] },
  network: { external: { domain: 'events.example.com' } },
  placement: { nodeSelector: { disk: 'nvme' }, priorityClassName: 'high', hostUsers: false },
  config: { rateLimitPerSecond: 100 },
  restartKey: '1',
  podTemplate: { spec: { containers: [{ name: 'cairn', env: [{ name: 'NODE_OPTIONS', value: '--trace-gc' }] }] } },
};

function templateOf(...[spec, facts]: readonly [spec?: object, facts?: Parameters<typeof factsOf>[1]]): unknown {
  const cluster = clusterOf({ ...spec });
  const [found] = objectsOf(cluster, factsOf(cluster, facts)).filter(({ kind }) => kind === 'StatefulSet');
  return (found as { readonly spec?: { readonly template: unknown } } | undefined)?.spec?.template;
}

/** Independent of the order of members. */
function digestOf(value: unknown): string {
  const sorted = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 16);
}

describe('the template of the pods', () => {
  it.each([
    ['of the smallest cluster', {}, 'a267fbee968e70be'],
    ['of a cluster with every field that is in it', EVERYTHING, '5b5df3d5d580421e'],
  ])('%s is unchanged in running clusters (KO2)', (_name, spec, digest) => {
    expect(digestOf(templateOf(spec))).toBe(digest);
  });

  it('does not change with the facts of a cluster (KO2)', () => {
    const servedGroups = new Set(['monitoring.coreos.com', 'cert-manager.io', 'gateway.networking.k8s.io']);
    const others = { replicas: 7, storageSize: '1Ti', clusterID: 'a', servedGroups, operatorNamespace: 'operators' };
    expect(templateOf({}, others)).toEqual(templateOf());
  });

  it('has the repository of the operator only when the spec names none (KO2)', () => {
    const imageOf = (spec: object): string => JSON.stringify(templateOf(spec, { defaultImage: 'elsewhere/cairn' }));
    expect(imageOf({})).toContain('"image":"elsewhere/cairn:0.1.0"');
    expect(imageOf({ image: { repository: 'ours' } })).toContain('"image":"ours:0.1.0"');
  });
});
