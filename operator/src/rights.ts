/**
 * Requests that the operator sends, as rights: the source of the roles in charts/cairn-operator. A test compares them
 * with the requests of all tests of the operator (test/operator/process/rights.long.test.ts).
 */
import { CAIRN_CLUSTER, EVENT_ACCESS, EVENT_DATABASE, PRESENTER, STATE_CHANGE, STATE_VIEW } from './api/index.ts';
import type { Kind } from './kube/index.ts';
import { groupOf, OWNED_KINDS } from './objects/index.ts';

export interface Right {
  /** Empty for the core group. */
  readonly apiGroup: string;
  /** For example `statefulsets` or `cairnclusters/status`. */
  readonly resource: string;
  readonly verbs: readonly string[];
}

export interface Rights {
  /** In the namespaces of the clusters. */
  readonly watched: readonly Right[];
  /** In all namespaces. The operator has none of these rights when it watches one namespace. */
  readonly cluster: readonly Right[];
  /** In the namespace of the operator. */
  readonly own: readonly Right[];
}

const READ = ['list', 'watch'];
const OWN = ['create', 'delete', 'list', 'patch', 'watch'];

const RESOURCES = [CAIRN_CLUSTER, EVENT_ACCESS, EVENT_DATABASE, PRESENTER, STATE_CHANGE, STATE_VIEW];
const { ConfigMap, ServiceAccount, ...OTHERS } = OWNED_KINDS;

export const RIGHTS: Rights = {
  watched: [
    ...RESOURCES.flatMap((kind) => [
      right(kind, kind === CAIRN_CLUSTER ? ['get', 'list', 'patch', 'watch'] : ['list', 'patch', 'watch']),
      right(kind, ['patch'], '/status'),
    ]),
    ...[CAIRN_CLUSTER, EVENT_ACCESS].map((kind) => right(kind, ['update'], '/finalizers')),
    ...Object.values(OTHERS).map((kind) => right(kind, OWN)),
    right(ServiceAccount, ['create', 'list', 'patch', 'watch']),
    right(ConfigMap, ['create', 'delete', 'get', 'list', 'patch', 'watch']),
    { apiGroup: '', resource: 'persistentvolumeclaims', verbs: ['delete', 'list', 'patch', 'watch'] },
    { apiGroup: '', resource: 'pods', verbs: OWN },
    { apiGroup: '', resource: 'secrets', verbs: ['create', 'get', 'patch', 'update'] },
    { apiGroup: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
  ],
  cluster: [{ apiGroup: '', resource: 'nodes', verbs: ['get', ...READ] }],
  own: [{ apiGroup: 'coordination.k8s.io', resource: 'leases', verbs: ['create', 'get', 'update'] }],
};

function right(kind: Kind, verbs: readonly string[], part = ''): Right {
  return { apiGroup: groupOf(kind), resource: `${kind.plural}${part}`, verbs };
}
