// CairnClusters as the API server returns them: with the defaults of the schema.
import { CAIRN_CLUSTER, type CairnCluster, type CairnClusterSpec } from '../../../operator/src/api/index.ts';
import type { ClusterFacts } from '../../../operator/src/objects/index.ts';
import { type OpenApi, openApiOf } from '../api/walk.ts';

type Members = Readonly<Record<string, unknown>>;

/** The cluster shop in the namespace prod. */
export function clusterOf(spec: Members = {}): CairnCluster {
  const schema = openApiOf(CAIRN_CLUSTER).properties?.['spec'] ?? {};
  return {
    apiVersion: 'cairn.dev/v1alpha1',
    kind: 'CairnCluster',
    metadata: {
      name: 'shop',
      namespace: 'prod',
      uid: '11111111-2222-3333-4444-555555555555',
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: withDefaults(schema, { version: '0.1.0', ...spec }) as CairnClusterSpec,
  };
}

/** Facts of a cluster that meets its spec. */
export function factsOf({ spec }: CairnCluster, facts: Partial<ClusterFacts> = {}): ClusterFacts {
  const { replicas, learners, storage } = spec;
  const pool = learners > 0 ? { learners } : {};
  return { replicas, ...pool, storageSize: storage.size, servedGroups: new Set(), defaultImage: 'cairn', ...facts };
}

function withDefaults({ properties = {}, items, additionalProperties }: OpenApi, value: unknown): unknown {
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => withDefaults(items, item));
  if (typeof value !== 'object' || value === null) return value;
  const given = Object.entries(value).map(([name, member]): [string, unknown] => {
    const schema = properties[name] ?? additionalProperties;
    return [name, schema === undefined ? member : withDefaults(schema, member)];
  });
  const filled = Object.entries(properties)
    .filter(([name, schema]) => !(name in value) && schema.default !== undefined)
    .map(([name, schema]): [string, unknown] => [name, withDefaults(schema, structuredClone(schema.default))]);
  return Object.fromEntries([...filled, ...given]);
}
