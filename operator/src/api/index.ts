/**
 * The API of the operator: the custom resources of `cairn.dev/v1alpha1`.
 *
 * For: the declaration of each kind, and the TypeScript types of its objects, which are generated from it. So are the
 * CustomResourceDefinitions of charts/cairn-crds and the reference of the docs (scripts/crds).
 *
 * Not here: what the operator does with an object. There is no webhook: what an object may be is decided by schemas
 * and by rules in CEL, which the API server checks.
 *
 * Invariants:
 *   KA1  What a kind takes is declared once; the types, the definitions and the reference are those of the declaration.
 *   KA2  The status of an object has no value that changes without a reason, such as a revision or the time of a look.
 *   KA3  The names EventBackup, EventBackupSchedule and EventRestore stay free for backups.
 */
import { CAIRN_CLUSTER } from './cairn-cluster.ts';
import { PRESENTER, STATE_CHANGE, STATE_VIEW } from './components.ts';
import { EVENT_ACCESS } from './event-access.ts';
import { EVENT_DATABASE } from './event-database.ts';
import type { ResourceKind } from './schema.ts';

export { CAIRN_CLUSTER, SET_BY_OPERATOR } from './cairn-cluster.ts';
export { PRESENTER, STATE_CHANGE, STATE_VIEW } from './components.ts';
export { EVENT_ACCESS } from './event-access.ts';
export { EVENT_DATABASE } from './event-database.ts';
export { GROUP, VERSION } from './fragments.ts';
export type {
  CairnCluster,
  CairnClusterCondition,
  CairnClusterSpec,
  CairnClusterStatus,
  Condition,
  EventAccess,
  EventAccessCondition,
  EventAccessStatus,
  EventDatabase,
  EventDatabaseCondition,
  EventDatabaseStatus,
  Metadata,
  Presenter,
  PresenterCondition,
  PresenterSpec,
  StateChange,
  StateChangeCondition,
  StateChangeSpec,
  StateView,
  StateViewCondition,
  StateViewSpec,
  StateViewStatus,
} from './gen/types.ts';

/** All kinds, in the order of the documentation. */
export const KINDS: readonly ResourceKind[] = [
  CAIRN_CLUSTER,
  EVENT_DATABASE,
  STATE_VIEW,
  STATE_CHANGE,
  PRESENTER,
  EVENT_ACCESS,
];
