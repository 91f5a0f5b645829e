/**
 * Actions of the controller: their types, and how one of them is carried out.
 *
 * Every action is idempotent, or names what it depends on: a uid, or the pods that must be in service meanwhile. The
 * caches of the operator lag behind, so the pods are read again from the API server before a pod or a claim is deleted.
 */
import { CAIRN_CLUSTER, type CairnCluster, type CairnClusterStatus } from '../api/index.ts';
import type { ClusterAdmin, NodeOrder } from '../client/index.ts';
import {
  type Api,
  apply,
  hasCode,
  type Kind,
  type KubeObject,
  type Place,
  pathOf,
  unless,
  type Wanted,
} from '../kube/index.ts';
import { kindOf } from '../objects/index.ts';
import { isReady, KUBE_NODE, type KubeNode, POD, type Pod, readySinceMs } from './kinds.ts';
import type { Member, WantedObject } from './world.ts';

export interface Expected {
  readonly name: string;
  /** Undefined when there must be no such pod. */
  readonly uid: string | undefined;
  /** Time since which it is in service, as the API server shows it; undefined when it must be out of service. */
  readonly readyMs: number | undefined;
}

export type Action =
  /** Changes the object with this uid; without one creates it. */
  | { readonly kind: 'apply'; readonly object: WantedObject; readonly uid?: string | undefined }
  /** Changes labels, annotations, finalizers or the spec of the object with this uid; null removes a field. */
  | { readonly kind: 'patch'; readonly of: Kind; readonly object: KubeObject; readonly body: Patch }
  /** Changes fields of the status; null removes one. Fails when the CairnCluster has changed since it was observed. */
  | {
      readonly kind: 'record';
      readonly object: CairnCluster;
      readonly status: Changes<CairnClusterStatus>;
      readonly why: string;
      /** Pods that must still be as the plan assumes. */
      readonly expects?: readonly Expected[];
    }
  | {
      readonly kind: 'delete';
      readonly of: Kind;
      readonly object: KubeObject;
      readonly why: string;
      /** Pods that must still be as the plan assumes. */
      readonly expects?: readonly Expected[];
      /** A Kubernetes node that must still be gone or not ready. */
      readonly lostNode?: string | undefined;
      /** Orphan: its pods stay. Now: does not wait for the kubelet. */
      readonly how?: 'Orphan' | 'Now';
    }
  | { readonly kind: NodeOrder; readonly node: number; readonly name: string }
  | { readonly kind: 'recover'; readonly database: string; readonly node: number; readonly name: string }
  /** Runs `cairn recover` in a pod, while these pods do not exist. */
  | { readonly kind: 'refound'; readonly object: Wanted; readonly expects: readonly Expected[] }
  | { readonly kind: 'finalize' }
  /** Nothing is done now; the world is observed again soon. */
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string };

type Changes<Status> = { readonly [Field in keyof Status]?: Status[Field] | null };

type Patch = { readonly [Part in 'metadata' | 'spec']?: Readonly<Record<string, unknown>> };

export interface Ports {
  readonly api: Api;
  /** Undefined when no node can be asked. */
  readonly admin: ClusterAdmin | undefined;
  /** Remembers an applied object as the API server returned it. */
  readonly onApplied: (object: WantedObject, result: KubeObject) => void;
}

export const MANAGER = 'cairn-operator';
const INVALID = 422;

/** Returns true when the world must be observed before the next action. */
export function isIrreversible({ kind }: Action): boolean {
  return kind !== 'apply' && kind !== 'patch' && kind !== 'wait';
}

export function wait(reason: string, message: string): readonly Action[] {
  return [{ kind: 'wait', reason, message }];
}

export function metadataPatch(
  of: Kind,
  object: KubeObject,
  field: 'annotations' | 'labels',
  values: Readonly<Record<string, string | null>>,
): Action & { readonly kind: 'patch' } {
  return { kind: 'patch', of, object, body: { metadata: { [field]: values } } };
}

export function record(
  object: CairnCluster,
  status: Changes<CairnClusterStatus>,
  why: string,
): Action & { kind: 'record' } {
  return { kind: 'record', object, status, why };
}

export function expectedOf(members: readonly Pick<Member, 'name' | 'pod'>[]): readonly Expected[] {
  return members.flatMap(({ name, pod }) =>
    pod === undefined ? [] : [{ name, uid: pod.metadata.uid, readyMs: readySinceMs(pod) }],
  );
}

export async function act(action: Action, { api, admin, onApplied }: Ports): Promise<void> {
  switch (action.kind) {
    case 'apply': {
      const { object, uid } = action;
      if (uid === undefined) await verifyOwn(api, object);
      const named = { ...object, metadata: { ...object.metadata, uid } };
      const send = (): Promise<KubeObject> => apply(api, kindOf(object), named, MANAGER);
      const result = await send().catch(async (error: unknown) => {
        if (uid === undefined || !hasCode(error, INVALID)) throw error;
        // Items of lists merge by keys, so those that others have changed stay beside ours, as two ports of one name.
        await api.patch(pathOf(kindOf(object), object.metadata), named, 'merge');
        return send();
      });
      onApplied(object, result);
      return;
    }
    case 'patch': {
      const { uid } = action.object.metadata;
      const body = { ...action.body, metadata: { ...action.body.metadata, uid } };
      await api.patch(pathOf(action.of, action.object.metadata), body, 'merge');
      return;
    }
    case 'record': {
      const { metadata } = action.object;
      await verifyPods(api, metadata, action.expects);
      // A merge patch removes a field also when another manager owns it.
      const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: action.status };
      await api.patch(`${pathOf(CAIRN_CLUSTER, metadata)}/status`, body, 'merge');
      return;
    }
    case 'delete':
      await verifyPods(api, action.object.metadata, action.expects);
      if (action.lostNode !== undefined) await verifyLost(api, action.lostNode);
      await api.delete(pathOf(action.of, action.object.metadata), deleteOptions(action)).catch(unless(404));
      return;
    case 'wait':
      return;
    case 'recover':
      await reached(admin).recover(action.database, action.node);
      return;
    case 'refound':
      await verifyPods(api, action.object.metadata, action.expects);
      await apply(api, POD, action.object, MANAGER);
      return;
    case 'finalize':
      await reached(admin).finalize();
      return;
    case 'drain':
    case 'undrain':
    case 'decommission':
    case 'recommission':
      await reached(admin).order(action.kind, action.node);
  }
}

function reached(admin: ClusterAdmin | undefined): ClusterAdmin {
  if (admin === undefined) throw new Error('no node of the cluster answers');
  return admin;
}

function deleteOptions({ object, how }: Action & { readonly kind: 'delete' }): object {
  return {
    preconditions: { uid: object.metadata.uid },
    ...(how === 'Orphan' && { propagationPolicy: 'Orphan' }),
    ...(how === 'Now' && { gracePeriodSeconds: 0 }),
  };
}

/** Labels of the owner of an object, which it keeps when its CairnCluster is another one of the same name. */
const OWNER_LABELS = ['app.kubernetes.io/managed-by', 'app.kubernetes.io/instance'];

/** Fails when an object of the name has another owner: an apply would change it, and it would end with the cluster. */
async function verifyOwn(api: Api, { kind, metadata }: WantedObject): Promise<void> {
  const { namespace, name, labels } = metadata;
  const path = pathOf(kindOf({ kind }), { namespace });
  const { items } = await api.list<KubeObject>(`${path}?fieldSelector=metadata.name%3D${name}`);
  const found = items.find((each) => each.metadata.name === name);
  const isForeign = OWNER_LABELS.some((label) => found?.metadata.labels?.[label] !== labels?.[label]);
  if (found === undefined || !isForeign) return;
  const remedy = 'delete it, or choose another name for the CairnCluster';
  throw new Error(`${kind} ${name} exists and is not of the operator: ${remedy}`);
}

async function verifyPods(api: Api, { namespace }: Place, expects: readonly Expected[] = []): Promise<void> {
  if (expects.length === 0) return;
  const { items } = await api.list<Pod>(pathOf(POD, { namespace }));
  const found = new Map(items.map((pod) => [pod.metadata.name, pod]));
  for (const { name, uid, readyMs } of expects) {
    const pod = found.get(name);
    // A pod that was out of service for a moment is not stable any more (KC1).
    const isSame = pod?.metadata.uid === uid && readySinceMs(pod) === readyMs;
    if (!isSame) throw new Error(`pod ${name} has changed since it was observed`);
  }
}

async function verifyLost(api: Api, name: string): Promise<void> {
  const found = await api.find<KubeNode>(KUBE_NODE, { name });
  if (isReady(found)) throw new Error(`Kubernetes node ${name} is ready again`);
}
