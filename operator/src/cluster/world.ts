/**
 * Everything that the plan for a cluster depends on, and what follows from it directly.
 *
 * A member is an ordinal of the StatefulSet: its pod, its claim, and the node of the cluster that runs in the pod. A
 * pod with a new volume joins as a new node of the same name, so the member's node is the latest one of its name.
 */
import type { CairnCluster } from '../api/index.ts';
import type { ClusterDescription, ClusterNode } from '../client/index.ts';
import { isOwnedBy, type Kind, type KubeObject, type Wanted } from '../kube/index.ts';
import type { RecoveryRun } from '../objects/index.ts';
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
  /** The desired objects for a number of pods and a size of volumes. Pure. */
  readonly render: (facts: { readonly replicas: number; readonly storageSize: string }) => readonly WantedObject[];
  /** The pod that runs `cairn recover` on the volume of a node. Pure. */
  readonly renderRecovery: (run: RecoveryRun) => Wanted;
  /** Returns true when the object was applied in this form, and was not changed since. */
  readonly isApplied: (object: WantedObject) => boolean;
  readonly owned: readonly OwnedObject[];
  readonly set: StatefulSet | undefined;
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
  readonly ordinal: number;
  readonly name: string;
  readonly pod: Pod | undefined;
  readonly claim: Claim | undefined;
  readonly node: ClusterNode | undefined;
}

/** Entries that a node in service may lag. Under load every follower lags some. */
const LAG_MAX = 1_000;

/** Number of pods that the StatefulSet has; undefined before the installation. */
export function replicasOf({ set }: World): number | undefined {
  return set === undefined ? undefined : (set.spec.replicas ?? 1);
}

export function memberOf(world: World, ordinal: number): Member {
  const name = `${world.cluster.metadata.name}-${ordinal}`;
  return {
    ordinal,
    name,
    pod: world.pods.find(({ metadata }) => metadata.name === name),
    claim: world.claims.find(({ metadata }) => metadata.name === `${DATA}${name}`),
    node: world.description?.nodes.filter((node) => node.name === name).toSorted((one, other) => other.id - one.id)[0],
  };
}

export function membersOf(world: World): readonly Member[] {
  return Array.from({ length: replicasOf(world) ?? 0 }, (_, ordinal) => memberOf(world, ordinal));
}

/** Returns true when a StatefulSet that stays owns all pods: Kubernetes then deletes them with it. */
export function isOwnerOfPods({ set, pods }: World): boolean {
  const isOwned = (pod: Pod): boolean => set !== undefined && !isTerminating(set) && isOwnedBy(pod, set);
  return pods.every((pod) => isTerminating(pod) || isOwned(pod));
}

/** Nodes that were not removed and that no member runs any more: lost ones, whose volume another node has replaced. */
export function orphansOf(world: World): readonly ClusterNode[] {
  const nodes = nodesOf(world);
  const prefix = `${world.cluster.metadata.name}-`;
  const current = new Set(membersOf(world).map(({ node }) => node?.id));
  return nodes.filter(({ id, name, answers }) => name.startsWith(prefix) && !current.has(id) && !answers);
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

/** The voters of the catalog that do not answer, if the others are no majority; otherwise none. */
export function lostVotersOf(world: World): readonly ClusterNode[] {
  const voters = nodesOf(world).filter(({ role }) => role === 'voter');
  const silent = voters.filter(({ answers }) => !answers);
  return 2 * silent.length >= voters.length ? silent : [];
}

/** Returns true when a majority of the voters of the catalog is in service without a node. */
export function hasQuorumWithout(without: Member, world: World): boolean {
  const voters = nodesOf(world).filter(({ role }) => role === 'voter');
  const counted = membersOf(world).filter(
    (member) =>
      member.ordinal !== without.ordinal && member.node?.role === 'voter' && ailmentOf(member, world) === undefined,
  );
  return 2 * counted.length > voters.length;
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
export function isOutdated({ pod }: Member, hash: string): boolean {
  return pod !== undefined && pod.metadata.annotations?.[TEMPLATE_ANNOTATION] !== hash;
}
