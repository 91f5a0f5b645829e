/** From an EventDatabase and the database in its cluster to the next action and the status. Pure. */
import type { EventDatabase, EventDatabaseStatus } from '../api/index.ts';
import type { Database, Placed } from '../client/index.ts';
import { defined, type Finding } from '../kube/index.ts';
import {
  type ClusterState,
  commonStatus,
  conditionOf,
  hasFinalizer,
  isAbandoned,
  lackOfCluster,
} from '../reconcile/index.ts';

export const FINALIZER = 'cairn.dev/database';
/** Reason of the condition Created from before the creation until the id is in the status. */
const CREATING = 'Creating';

export type Found =
  | { readonly kind: 'unknown'; readonly error?: Error }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'database';
      readonly database: Database;
      readonly placed?: Placed | undefined;
    };

export interface World {
  readonly resource: EventDatabase;
  readonly cluster: ClusterState;
  readonly found: Found;
  /** Name of an older EventDatabase for the same database. */
  readonly claimedBy: string | undefined;
  readonly wallMs: number;
}

export type Action =
  | { readonly kind: 'hold' | 'release' | 'create' }
  | { readonly kind: 'record' | 'copies' | 'delete'; readonly database: Database };

export function plan(world: World): readonly Action[] {
  const { resource } = world;
  if (resource.metadata.deletionTimestamp !== undefined) return planDeletion(world);
  const isHeld = hasFinalizer(resource, FINALIZER);
  const wantsHold = resource.spec.reclaimPolicy === 'Delete';
  if (isHeld !== wantsHold) return [{ kind: wantsHold ? 'hold' : 'release' }];
  return world.claimedBy === undefined ? planDatabase(world) : [];
}

function planDatabase(world: World): readonly Action[] {
  const { resource, found } = world;
  const { adoptionPolicy: policy } = resource.spec;
  if (found.kind === 'unknown') return [];
  const id = resource.status?.databaseID;
  if (found.kind === 'none') {
    const isWanted = id === undefined ? policy !== 'Adopt' : policy === 'Either';
    return isWanted ? [{ kind: 'create' }] : [];
  }
  const { database, placed } = found;
  const mayTake = id === undefined ? isCreating(resource) || policy !== 'Create' : placed?.predecessor === id;
  if (mayTake) return [{ kind: 'record', database }];
  const hasOthers = database.id === id && placed !== undefined && placed.copies !== copiesOf(resource);
  return hasOthers ? [{ kind: 'copies', database }] : [];
}

/** Number of replicas to ask for; 0: the default of the cluster. */
export function copiesOf({ spec: { copies = 0 } }: EventDatabase): number {
  return copies;
}

function planDeletion(world: World): readonly Action[] {
  const { resource, cluster, found, claimedBy, wallMs } = world;
  if (!hasFinalizer(resource, FINALIZER)) return [];
  const isRetained = resource.spec.reclaimPolicy === 'Retain' || claimedBy !== undefined;
  const release: Action = { kind: 'release' };
  if (isRetained || cluster.kind === 'gone' || isAbandoned(resource, wallMs)) return [release];
  if (found.kind === 'unknown') return [];
  if (found.kind === 'none') return [release];
  const { database, placed } = found;
  const id = resource.status?.databaseID;
  const isOwn = id === undefined ? isCreating(resource) : id === placed?.predecessor;
  if (isOwn) return [{ kind: 'record', database }];
  return id === database.id ? [{ kind: 'delete', database }] : [release];
}

/** Returns true when a creation was begun whose outcome is not recorded. */
export function isCreating(resource: EventDatabase): boolean {
  const hasId = resource.status?.databaseID !== undefined;
  return !hasId && conditionOf(resource, 'Created')?.reason === CREATING;
}

export function databaseNameOf({ metadata, spec }: EventDatabase): string {
  return spec.name ?? metadata.name;
}

export function statusOf(world: World, failure?: string): EventDatabaseStatus {
  const { resource, wallMs } = world;
  const { databaseID, createdAt } = resource.status ?? {};
  const ready = failure === undefined ? readyOf(world) : (['False', 'Failed', failure] as const);
  return {
    ...commonStatus(resource, { Created: createdOf(world), Ready: ready }, wallMs),
    databaseName: databaseNameOf(resource),
    ...defined({ databaseID, createdAt }),
  };
}

/** Status with another finding of Created, and with the database that was created or adopted. */
export function statusWith(world: World, created: Finding, database?: Database): EventDatabaseStatus {
  const { resource, wallMs } = world;
  return {
    ...commonStatus(resource, { Created: created, Ready: ['False', created[1], created[2]] }, wallMs),
    databaseName: databaseNameOf(resource),
    ...(database && { databaseID: database.id, createdAt: database.createdAt }),
  };
}

function createdOf({ resource, ...world }: World): Finding {
  if (resource.status?.databaseID === undefined)
    return isCreating(resource) ? creating(resource) : lackOf({ resource, ...world });
  const { reason = 'Adopted', message = 'adopted' } = conditionOf(resource, 'Created') ?? {};
  return ['True', reason, message];
}

function readyOf(world: World): Finding {
  const { resource, found, claimedBy } = world;
  const id = resource.status?.databaseID;
  if (resource.metadata.deletionTimestamp !== undefined)
    return ['False', 'Deleting', found.kind === 'unknown' ? 'waits for the cluster' : 'being deleted'];
  if (id === undefined || claimedBy !== undefined || found.kind === 'unknown') return lackOf(world);
  if (found.kind === 'none') return ['False', 'DatabaseGone', `the cluster has no database with the id ${id} any more`];
  if (found.database.id === id) return ['True', 'Available', 'the database exists'];
  return [
    'False',
    'DatabaseReplaced',
    `the name belongs to another database, ${found.database.id}, which stays as it is`,
  ];
}

function lackOf({ resource, cluster, found, claimedBy }: World): Finding {
  const { name } = resource.spec.clusterRef;
  if (claimedBy !== undefined)
    return ['False', 'ClaimedByAnother', `the EventDatabase ${claimedBy} describes this database already`];
  const lack = lackOfCluster(cluster, name);
  if (lack !== undefined) return lack;
  if (found.kind === 'unknown')
    return ['False', 'ClusterUnreachable', `the cluster ${name} does not answer: ${found.error?.message ?? ''}`];
  if (found.kind === 'none' && resource.spec.adoptionPolicy === 'Adopt')
    return ['False', 'DatabaseNotFound', 'there is no database to adopt: create it, or set adoptionPolicy to Either'];
  if (found.kind === 'none' || isCreating(resource)) return creating(resource);
  return exists(resource);
}

export function creating(resource: EventDatabase): Finding {
  return ['False', CREATING, `the database ${databaseNameOf(resource)} is being created`];
}

export function exists(resource: EventDatabase): Finding {
  const name = databaseNameOf(resource);
  return ['False', 'DatabaseExists', `a database ${name} exists already: set adoptionPolicy to Adopt to take it over`];
}
