/**
 * Everything that the plan for a cluster depends on, and what follows from it directly.
 *
 * A member is an ordinal of a StatefulSet: its pod, its claim, and the node of the cluster that runs in the pod. A pod
 * with a new volume joins as a new node of the same name, so the member's node is the latest one of its name.
 */
import type { CairnCluster } from '../api/index.ts';
import type { ClusterDescription, ClusterNode } from '../client/index.ts';
import { isOwnedBy, type Kind, type KubeObject, type Wanted } from '../kube/index.ts';
import { type DueFacts, POOLS, type Pool, podName, poolOf, type RecoveryRun } from '../objects/index.ts';
import {
  type Claim,
  DATA,
  DRAIN_ANNOTATION,
  isReady,
  isTerminating,
  type KubeNode,
  type Pod,
  RELEASED_LABEL,
  readySinceMs,
  type StatefulSet,
  TEMPLATE_ANNOTATION,
} from './kinds.ts';

export interface WantedObject extends Wanted {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Wanted['metadata'] & { readonly labels?: Readonly<Record<string, string>> };
}

export interface OwnedObject extends KubeObject {
  readonly kind: string;
  readonly of: Kind;
}

export interface World {
  readonly nowMs: number;
  readonly cluster: CairnCluster;
  /** The desired objects for numbers of pods and a size of volumes. Pure. */
  readonly render: (facts: DueFacts) => readonly WantedObject[];
  /** The pod that runs `cairn recover` on the volume of a node. Pure. */
  readonly renderRecovery: (run: RecoveryRun) => Wanted;
  /** Returns true when the object was applied in this form, and was not changed since. */
  readonly isApplied: (object: WantedObject) => boolean;
  readonly owned: readonly OwnedObject[];
  /** The StatefulSets that exist. */
  readonly sets: Readonly<Partial<Record<Pool, StatefulSet | undefined>>>;
  /** Pods of nodes. */
  readonly pods: readonly Pod[];
  readonly recoveryPod: Pod | undefined;
  readonly claims: readonly Claim[];
  /** Kubernetes nodes by name; undefined when the operator may not read them. */
  readonly kubeNodes: ReadonlyMap<string, KubeNode> | undefined;
  /** Absent when no node answers. */
  readonly description: ClusterDescription | undefined;
  /** Reason why a node that answers gives no description, such as a key that it does not know. */
  readonly refusal?: string | undefined;
}

export interface Member {
  readonly pool: Pool;
  readonly ordinal: number;
  readonly name: string;
  readonly pod: Pod | undefined;
  readonly claim: Claim | undefined;
  readonly node: ClusterNode | undefined;
}

/** Entries that a node in service may lag. Under load every follower lags some. */
const LAG_MAX = 1_000;

/** Number of pods that the StatefulSet of a pool has; undefined when there is none. */
export function replicasOf({ sets }: World, pool: Pool): number | undefined {
  const set = sets[pool];
  return set === undefined ? undefined : (set.spec.replicas ?? 1);
}

/** Number of nodes that the spec wants in a pool. */
export function wantedIn({ cluster: { spec } }: World, pool: Pool): number {
  return pool === 'voters' ? spec.replicas : spec.learners;
}

export function memberOf(world: World, ordinal: number, pool: Pool = 'voters'): Member {
  const name = podName(world.cluster, ordinal, pool);
  return {
    pool,
    ordinal,
    name,
    pod: world.pods.find(({ metadata }) => metadata.name === name),
    claim: world.claims.find(({ metadata }) => metadata.name === `${DATA}${name}`),
    node: world.description?.nodes.filter((node) => node.name === name).toSorted((one, other) => other.id - one.id)[0],
  };
}

export function membersIn(world: World, pool: Pool): readonly Member[] {
  return Array.from({ length: replicasOf(world, pool) ?? 0 }, (_, ordinal) => memberOf(world, ordinal, pool));
}

export function membersOf(world: World): readonly Member[] {
  return POOLS.flatMap((pool) => membersIn(world, pool));
}

/** Members of a pool without the one that leaves next because there are too many. */
export function stayingIn(world: World, pool: Pool): readonly Member[] {
  const members = membersIn(world, pool);
  return members.length > wantedIn(world, pool) ? members.slice(0, -1) : members;
}

export function podsIn({ cluster, pods }: World, pool: Pool): readonly Pod[] {
  return pods.filter(({ metadata }) => poolOf(cluster, metadata.name) === pool);
}

export function setsOf({ sets }: World): readonly StatefulSet[] {
  return POOLS.flatMap((pool) => sets[pool] ?? []);
}

/** Returns true when StatefulSets that stay own all pods: Kubernetes then deletes them with these. */
export function isOwnerOfPods(world: World): boolean {
  const owners = setsOf(world).filter((set) => !isTerminating(set));
  return world.pods.every((pod) => isTerminating(pod) || owners.some((set) => isOwnedBy(pod, set)));
}

/** Nodes that were not removed and that no member runs any more: lost ones, whose volume another node has replaced. */
export function orphansOf(world: World, pool: Pool): readonly ClusterNode[] {
  const current = new Set(membersIn(world, pool).map(({ node }) => node?.id));
  return nodesOf(world).filter(
    ({ id, name, answers }) => poolOf(world.cluster, name) === pool && !current.has(id) && !answers,
  );
}

/** Why a member is not in full service; undefined when it is. */
function ailmentOf({ name, pod, node }: Member, world: World): string | undefined {
  if (pod === undefined) return `pod ${name} does not exist`;
  if (isTerminating(pod)) return `pod ${name} is terminating`;
  if (!isReady(pod)) return `pod ${name} is not ready${causeOf(pod)}`;
  if (node === undefined || node.state === 'removed') return `pod ${name} is not a node of the cluster yet`;
  if (!node.answers) return `node ${node.id} (${name}) does not answer`;
  if (node.state === 'leaving') return `node ${node.id} (${name}) is leaving the cluster`;
  if (node.isDraining) return `node ${node.id} (${name}) is drained`;
  if (node.lag > LAG_MAX || isBehind(node, world)) return `node ${node.id} (${name}) has not caught up`;
  return undefined;
}

/** The reason for which a pod is not scheduled or its container waits, such as Unschedulable or CrashLoopBackOff. */
export function causeOf({ status }: Pod): string {
  const unscheduled = status?.conditions?.find((each) => each.type === 'PodScheduled' && each.status === 'False');
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting?.reason ?? []) ?? [];
  const reason = unscheduled?.reason ?? waiting[0];
  return reason === undefined ? '' : `: ${reason}`;
}

export function ailmentAmong(members: readonly Member[], world: World): string | undefined {
  return members.map((member) => ailmentOf(member, world)).find((each) => each !== undefined);
}

export function nodesOf({ description }: World): readonly ClusterNode[] {
  return description?.nodes.filter(({ state }) => state !== 'removed') ?? [];
}

function isBehind({ id }: ClusterNode, { description }: World): boolean {
  const members = description?.databases.flatMap((database) => database.members) ?? [];
  return members.some(({ node, isCaughtUp }) => node === id && !isCaughtUp);
}

/** The voters of the catalog. */
export function votersOf(world: World): readonly ClusterNode[] {
  return nodesOf(world).filter(({ role }) => role === 'voter');
}

/** Voters of the catalog that do not answer, if the others are no majority; otherwise none. */
export function lostVotersOf(world: World): readonly ClusterNode[] {
  const voters = votersOf(world);
  const silent = voters.filter(({ answers }) => !answers);
  return 2 * silent.length >= voters.length ? silent : [];
}

/** Returns true when a majority of the voters of the catalog is in service without a node. */
export function hasQuorumWithout(without: Member, world: World): boolean {
  const others = membersOf(world).filter(({ name, node }) => name !== without.name && node?.role === 'voter');
  const counted = others.filter((member) => ailmentOf(member, world) === undefined);
  return 2 * counted.length > votersOf(world).length;
}

export function isStopped({ status }: CairnCluster): boolean {
  return status?.recoveryStage !== undefined;
}

export function isReleased(claim: Claim | undefined): boolean {
  return claim?.metadata.labels?.[RELEASED_LABEL] !== undefined;
}

export function drainStartMs(pod: Pod | undefined): number | undefined {
  const since = pod?.metadata.annotations?.[DRAIN_ANNOTATION];
  return since === undefined ? undefined : Date.parse(since);
}

export function isStable({ pod }: Member, { nowMs, cluster }: World): boolean {
  const since = readySinceMs(pod);
  return since !== undefined && nowMs - since >= cluster.spec.update.stableSeconds * 1000;
}

/** Returns true when a pod was made of another template than the current one. It runs until it is gone. */
export function isOutdated({ pool, pod }: Member, hashes: ReadonlyMap<Pool, string>): boolean {
  return pod !== undefined && pod.metadata.annotations?.[TEMPLATE_ANNOTATION] !== hashes.get(pool);
}
