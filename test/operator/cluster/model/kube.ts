// A naive model of Kubernetes: an API server, the StatefulSet controller, kubelets, volumes and Kubernetes nodes. One
// step changes one thing, so that the operator runs between any two changes.
import type { Transport, TransportRequest, TransportResponse } from '../../../../operator/src/kube/index.ts';
import type { Random } from '../../../model/generate/random.ts';
import { recordRequest } from '../../../support/kube-api/requests.ts';
import { merged } from '../../../support/kube-api/store.ts';
import type { ManualRuntime } from '../../../support/manual-runtime.ts';
import type { CairnModel, Volume } from './cairn.ts';
import { gibOf, type Item, isOwnedBy, isTerminating, isWithin, type Sent, setOf, shrinks, sizeOf } from './items.ts';

/** Releases and the feature levels that they know. */
export const LEVELS: Readonly<Record<string, number>> = { '0.1.0': 1, '0.2.0': 2, '0.3.0': 2, '0.4.0': 3 };
export const NAMESPACE = 'events';
export const NAME = 'shop';
export const RECOVERY: string = `${NAME}-recovery`;
/** The StatefulSet of the learners. */
export const LEARNERS: string = `${NAME}-learners`;

export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const NODE_LOST_MS = 40_000;
const ORPHAN_FINALIZER = 'orphan';

export class KubeModel implements Transport {
  readonly cairn: CairnModel;
  /** When set, a process ends at once if its volume is full. */
  needsRoom = false;
  /** Pods that never end by themselves: nothing is known of their Kubernetes node. */
  readonly hung: Set<string> = new Set();
  readonly #runtime: ManualRuntime;
  readonly #random: Random;
  readonly #items = new Map<string, Item>();
  /** Contents of volumes, by the uid of their claim. */
  readonly volumes: Map<string, Volume> = new Map();
  /** Called with each write of the operator before it happens. */
  onWrite: (method: string, collection: string, item: Item | undefined, body: Sent) => void = () => undefined;
  #version = 0;
  #writes = 0;

  constructor(runtime: ManualRuntime, cairn: CairnModel) {
    this.#runtime = runtime;
    this.#random = runtime.chance;
    this.cairn = cairn;
  }

  /** Number of writes of the operator that changed something. */
  get writes(): number {
    return this.#writes;
  }

  list(collection: string): Item[] {
    const found = [...this.#items].filter(([key]) => key.startsWith(`${collection}/`)).map(([, item]) => item);
    return found.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  }

  get(collection: string, name: string): Item | undefined {
    return this.#items.get(`${collection}/${name}`);
  }

  put(collection: string, item: object): Item {
    const made = item as Item;
    const { name } = made.metadata;
    const before = this.#items.get(`${collection}/${name}`);
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(made.spec);
    this.#version += 1;
    made.metadata = {
      ...made.metadata,
      uid: before?.metadata.uid ?? `uid-${this.#version}`,
      creationTimestamp: before?.metadata.creationTimestamp ?? this.#now(),
      resourceVersion: String(this.#version),
      generation: (before?.metadata.generation ?? 0) + (isSame ? 0 : 1),
    };
    this.#items.set(`${collection}/${name}`, made);
    return made;
  }

  remove(collection: string, name: string): void {
    this.#items.delete(`${collection}/${name}`);
  }

  async send({ method, path, body = '{}' }: TransportRequest): Promise<TransportResponse> {
    const url = new URL(path, 'https://kubernetes');
    const { collection, name, isStatus } = targetOf(url.pathname);
    const sent: Sent = JSON.parse(body);
    const found = this.get(collection, name);
    recordRequest(method, path, found !== undefined);
    if (method === 'GET' && name === '')
      return answer(200, { items: this.list(collection), metadata: { resourceVersion: '1' } });
    if (method === 'GET') return found === undefined ? answer(404, {}) : answer(200, found);
    const isApply = url.searchParams.has('fieldManager');
    const { uid, resourceVersion } = (method === 'DELETE' ? sent.preconditions : sent.metadata) ?? {};
    if (found === undefined && !(isApply && !isStatus)) return answer(404, {});
    if (uid !== undefined && uid !== found?.metadata.uid) return answer(409, {});
    if (resourceVersion !== undefined && resourceVersion !== found?.metadata.resourceVersion) return answer(409, {});
    if (collection === 'persistentvolumeclaims' && shrinks(sent, found)) return answer(422, {});
    this.onWrite(method, isStatus ? `${collection}/status` : collection, found, sent);
    if (method === 'DELETE' && found !== undefined) return this.#delete(collection, found, sent);
    const next = (isApply ? applied(found, sent, isStatus) : merged({ ...found }, { ...sent })) as Item;
    if (JSON.stringify(next) === JSON.stringify(found)) return answer(200, next);
    if (!isStatus) this.#writes += 1;
    const made = this.put(collection, next);
    // Only the last finalizer that goes removes an object: a pod that is patched while it terminates stays.
    const hadFinalizers = (found?.metadata.finalizers ?? []).length > 0;
    const isReleased = hadFinalizers && (made.metadata.finalizers ?? []).length === 0;
    if (made.metadata.deletionTimestamp !== undefined && isReleased) this.remove(collection, name);
    return answer(200, made);
  }

  #delete(collection: string, item: Item, options: Sent): TransportResponse {
    this.#writes += 1;
    const { name } = item.metadata;
    if (collection === 'statefulsets' && options.propagationPolicy === 'Orphan') {
      item.metadata.deletionTimestamp ??= this.#now();
      item.metadata.finalizers = [ORPHAN_FINALIZER];
      this.put(collection, item).metadata.generation += 1;
      return answer(200, {});
    }
    if (collection === 'statefulsets') {
      for (const pod of this.list('pods')) if (setOf(pod.metadata.name) === name) this.#terminate(pod);
    }
    if (collection === 'pods' && options.gracePeriodSeconds !== 0) this.#terminate(item);
    else if (collection === 'pods') this.#end(name);
    else if (collection === 'persistentvolumeclaims') this.#deleteClaim(item);
    else this.remove(collection, name);
    return answer(200, {});
  }

  /** A claim is kept while a pod that is scheduled uses it. */
  #deleteClaim(claim: Item): void {
    const { name } = claim.metadata;
    if (this.get('pods', name.replace('data-', ''))?.spec.nodeName === undefined)
      return this.remove('persistentvolumeclaims', name);
    claim.metadata.deletionTimestamp ??= this.#now();
    this.put('persistentvolumeclaims', claim);
  }

  #terminate(pod: Item): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    pod.metadata.deletionTimestamp = this.#now();
    this.put('pods', pod);
  }

  /** Ends a pod, and removes what was deleted while the pod used it. */
  #end(name: string): void {
    this.cairn.processes.delete(name);
    this.remove('pods', name);
    const claim = this.get('persistentvolumeclaims', `data-${name}`);
    if (claim?.metadata.deletionTimestamp !== undefined) this.remove('persistentvolumeclaims', claim.metadata.name);
  }

  /** One step of one controller or kubelet. */
  step(): void {
    const pods = this.list('pods');
    const isOver = this.get('cairnclusters', NAME) === undefined;
    const work = [
      ...(isOver ? [() => this.#collectOwned()] : []),
      () => this.#runSet(NAME),
      ...(this.get('statefulsets', LEARNERS) === undefined ? [] : [() => this.#runSet(LEARNERS)]),
      () => this.#resize(),
      ...pods.map((pod) => () => this.#runPod(pod)),
      ...pods.map((pod) => () => this.#collect(pod)),
    ];
    this.#random.pick(work)();
    for (const { metadata } of this.list('pods')) this.#probe(metadata.name);
  }

  #runSet(of: string): void {
    const set = this.get('statefulsets', of);
    if (set === undefined) return;
    if (set.metadata.finalizers?.includes(ORPHAN_FINALIZER) === true) {
      // The garbage collector removes it from its pods.
      for (const pod of this.list('pods').filter((each) => isOwnedBy(each, set))) pod.metadata.ownerReferences = [];
      return this.remove('statefulsets', of);
    }
    const pods = this.list('pods').filter(({ metadata }) => setOf(metadata.name) === of);
    const orphan = pods.find((pod) => !isTerminating(pod) && !isOwnedBy(pod, set));
    if (orphan !== undefined) {
      orphan.metadata.ownerReferences = [{ uid: set.metadata.uid }];
      this.put('pods', orphan);
      return;
    }
    const { replicas, ordinals: { start } = { start: 0 } } = set.spec;
    for (let ordinal = start; ordinal < start + replicas; ordinal += 1) {
      const name = `${of}-${ordinal}`;
      const pod = this.get('pods', name);
      if (pod === undefined) return this.#makePod(set, name);
      if (pod.spec.nodeName === undefined) this.#makeClaim(set, name);
    }
    const pod = pods.findLast(({ metadata }) => !isWithin(set.spec, metadata.name));
    if (pod !== undefined) this.#terminate(pod);
  }

  #makePod(set: Item, name: string): void {
    const claim = this.get('persistentvolumeclaims', `data-${name}`);
    if (claim?.metadata.deletionTimestamp !== undefined) return;
    this.#makeClaim(set, name);
    const { spec, metadata } = structuredClone(set.spec.template);
    const ownerReferences = [{ uid: set.metadata.uid }];
    const founders = this.get('configmaps', `${NAME}-founding`)?.data?.join.split(',');
    this.put('pods', {
      kind: 'Pod',
      metadata: { name, namespace: NAMESPACE, labels: {}, annotations: { ...metadata.annotations }, ownerReferences },
      spec,
      founders,
      status: {},
    });
  }

  /** Makes the claim of a pod that is not scheduled, unless it has one. */
  #makeClaim({ spec: { volumeClaimTemplates } }: Item, pod: string): void {
    const name = `data-${pod}`;
    if (this.get('persistentvolumeclaims', name) !== undefined) return;
    const metadata = { name, namespace: NAMESPACE, labels: {}, annotations: {} };
    const spec = structuredClone(volumeClaimTemplates[0]?.spec);
    this.put('persistentvolumeclaims', { kind: 'PersistentVolumeClaim', metadata, spec, status: { phase: 'Pending' } });
  }

  #runPod(pod: Item): void {
    const { name, deletionTimestamp } = pod.metadata;
    const { nodeName } = pod.spec;
    const claim = this.get('persistentvolumeclaims', `data-${name}`);
    if (deletionTimestamp !== undefined) {
      if (nodeName === undefined || (this.#isUp(nodeName) && !this.hung.has(name))) this.#end(name);
      return;
    }
    if (name === RECOVERY) return this.#runRecovery(pod);
    if (nodeName === undefined) return this.#schedule(pod, claim);
    if (!this.#isUp(nodeName) || claim === undefined || this.cairn.processes.has(name)) return;
    if (pod.spec.isBad) return;
    if (this.needsRoom && this.usageOf(name) >= 100) {
      const terminated = { exitCode: 74, finishedAt: this.#now() };
      pod.status = { ...pod.status, containerStatuses: [{ name: 'cairn', state: {}, lastState: { terminated } }] };
      this.put('pods', pod);
      return;
    }
    const volume = this.volumes.get(claim.metadata.uid) ?? {};
    this.volumes.set(claim.metadata.uid, volume);
    const levelMax = LEVELS[pod.spec.release] ?? 0;
    if (volume.node !== undefined && this.cairn.isMember(volume.node) && levelMax < this.cairn.level) return;
    const { release } = pod.spec;
    const { founders = [] } = pod;
    this.cairn.processes.set(name, {
      pod: name,
      volume,
      release,
      levelMax,
      founders,
      isLearner: pod.spec.isLearner === true,
      isDraining: false,
      isCaughtUp: false,
      isLagging: false,
    });
  }

  /** One step of the pod of a recovery: it is scheduled to its volume, runs, or has ended. */
  #runRecovery(pod: Item): void {
    const { nodeName, survivor = '', acceptLoss } = pod.spec;
    const claim = this.get('persistentvolumeclaims', `data-${survivor}`);
    const bound = claim?.metadata.annotations[SELECTED_NODE];
    const isOver = pod.status.containerStatuses !== undefined;
    if (isOver || claim === undefined || bound === undefined || !this.#isUp(bound)) return;
    if (nodeName === undefined) pod.spec = { ...pod.spec, nodeName: bound };
    else {
      const isOpen = this.cairn.processes.has(survivor);
      const volume = this.volumes.get(claim.metadata.uid) ?? {};
      const [exitCode, message] = isOpen
        ? [1, 'cairn recover: it is open in another process']
        : this.cairn.refound(volume, acceptLoss);
      const state = { terminated: { exitCode, message } };
      pod.status = { ...pod.status, containerStatuses: [{ name: 'cairn', state }] };
    }
    this.put('pods', pod);
  }

  #schedule(pod: Item, claim: Item | undefined): void {
    const up = this.list('nodes').filter(({ metadata }) => this.#isUp(metadata.name));
    // No Kubernetes node has two pods of a StatefulSet. One whose pod is away is free, also when its volume is there.
    const rivals = this.list('pods').filter(({ spec }) => spec.isLearner === pod.spec.isLearner);
    const taken = new Set(rivals.map(({ spec }) => spec.nodeName));
    const bound = claim?.metadata.annotations[SELECTED_NODE];
    const [node] = up.filter(({ metadata: { name } }) => !taken.has(name) && (bound === undefined || name === bound));
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined || node === undefined) {
      this.#setCondition(pod, 'PodScheduled', 'False');
      return;
    }
    claim.metadata.annotations[SELECTED_NODE] = node.metadata.name;
    claim.status = { phase: 'Bound', capacity: { storage: claim.status.capacity?.storage ?? sizeOf(claim) } };
    this.put('persistentvolumeclaims', claim);
    pod.spec = { ...pod.spec, nodeName: node.metadata.name };
    this.#setCondition(pod, 'PodScheduled', 'True');
  }

  /** Deletes the pods of a lost Kubernetes node, and terminates those of one that is not ready. */
  #collect(pod: Item): void {
    const { nodeName } = pod.spec;
    if (nodeName === undefined) return;
    const node = this.get('nodes', nodeName);
    if (node === undefined) this.#end(pod.metadata.name);
    else if (!this.#isUp(nodeName) && this.#sinceMs(node) > NODE_LOST_MS) this.#terminate(pod);
  }

  /** The garbage collector after the end of the CairnCluster: pods without an owner stay. */
  #collectOwned(): void {
    const [set] = this.list('statefulsets');
    if (set !== undefined) return this.remove('statefulsets', set.metadata.name);
    for (const pod of this.list('pods')) if (pod.metadata.ownerReferences?.length !== 0) this.#terminate(pod);
  }

  /** A file system grows on the Kubernetes node of its pod. */
  #resize(): void {
    const claim = this.list('persistentvolumeclaims').find(
      ({ metadata, ...each }) =>
        each.status.phase === 'Bound' &&
        each.status.capacity?.storage !== each.spec.resources.requests.storage &&
        this.#isUp(this.get('pods', metadata.name.replace('data-', ''))?.spec.nodeName),
    );
    if (claim === undefined) return;
    claim.status = { ...claim.status, capacity: { storage: sizeOf(claim) } };
    this.put('persistentvolumeclaims', claim);
  }

  #probe(name: string): void {
    const pod = this.get('pods', name);
    if (pod === undefined || name === RECOVERY) return;
    const isUp = this.#isUp(pod.spec.nodeName);
    const isRunning = isUp && this.cairn.processes.has(name);
    // A silent kubelet does not change its last report.
    const state = isRunning ? { running: {} } : {};
    const [before] = pod.status.containerStatuses ?? [];
    if (isUp) pod.status = { ...pod.status, containerStatuses: [{ ...before, name: 'cairn', state }] };
    const isReady = isRunning && this.cairn.isReady(name) && pod.metadata.deletionTimestamp === undefined;
    this.#setCondition(pod, 'Ready', isReady ? 'True' : 'False');
  }

  setNode(name: string, isReady: boolean): void {
    this.#setNodeReady(name, isReady ? 'True' : 'False');
    if (!isReady) this.#stopOn(name);
  }

  /** Stops the reports of a kubelet while its pods continue. */
  silence(name: string): void {
    this.#setNodeReady(name, 'False');
  }

  #setNodeReady(name: string, state: 'True' | 'False'): void {
    const node = this.get('nodes', name) ?? this.put('nodes', { kind: 'Node', metadata: { name }, status: {} });
    this.#setCondition(node, 'Ready', state, 'nodes');
  }

  /** Removes a Kubernetes node with its volumes. */
  loseNode(name: string): void {
    this.#stopOn(name);
    this.remove('nodes', name);
  }

  #stopOn(node: string): void {
    for (const pod of this.list('pods')) {
      if (pod.spec.nodeName === node) this.cairn.processes.delete(pod.metadata.name);
    }
  }

  /** Deletes a pod as a user does. */
  terminate(pod: string): void {
    const found = this.get('pods', pod);
    if (found !== undefined) this.#terminate(found);
  }

  /** Deletes a pod and its claim as a user does. */
  discard(pod: string): void {
    const claim = this.get('persistentvolumeclaims', `data-${pod}`);
    if (claim !== undefined) this.#deleteClaim(claim);
    this.terminate(pod);
  }

  /** Deletes the CairnCluster as a user does. Its objects are garbage-collected, its claims are kept. */
  endCluster(): void {
    const cluster = this.get('cairnclusters', NAME);
    if (cluster === undefined) return;
    cluster.metadata.deletionTimestamp = this.#now();
    this.put('cairnclusters', cluster);
    if ((cluster.metadata.finalizers ?? []).length === 0) this.remove('cairnclusters', NAME);
  }

  /** Share of its volume that a pod uses, in percent. */
  usageOf(pod: string): number {
    const claim = this.get('persistentvolumeclaims', `data-${pod}`);
    const { usedGi = 1 } = this.volumes.get(claim?.metadata.uid ?? '') ?? {};
    const { capacity } = claim?.status ?? {};
    return capacity === undefined ? 0 : Math.min(100, (100 * usedGi) / gibOf(capacity.storage));
  }

  crash(pod: string): void {
    this.cairn.processes.delete(pod);
    this.#probe(pod);
  }

  #setCondition(item: Item, type: string, state: 'True' | 'False', collection: string = 'pods'): void {
    const { conditions = [] } = item.status;
    const known = conditions.find((each) => each.type === type);
    if (known?.status === state) return;
    const others = conditions.filter((each) => each.type !== type);
    const reason = type === 'PodScheduled' && state === 'False' ? 'Unschedulable' : '';
    const changed = { type, status: state, lastTransitionTime: this.#now(), reason, message: '' };
    item.status = { ...item.status, conditions: [...others, changed] };
    this.put(collection, item);
  }

  #isUp(node: string | undefined): boolean {
    const { conditions = [] } = this.get('nodes', node ?? '')?.status ?? {};
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  }

  #sinceMs(node: Item): number {
    const [ready] = node.status.conditions ?? [];
    return this.#runtime.wallMs() - Date.parse(ready?.lastTransitionTime ?? '');
  }

  #now(): string {
    return new Date(this.#runtime.wallMs()).toISOString().replace(/\.\d+/, '');
  }
}

function targetOf(path: string): { readonly collection: string; readonly name: string; readonly isStatus: boolean } {
  const parts = path.split('/').filter((part) => part !== '');
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const [collection = '', name = '', status] = rest[0] === 'namespaces' ? rest.slice(2) : rest;
  return { collection, name, isStatus: status === 'status' };
}

/** Server-side apply with one manager for these fields. */
function applied(found: Item | undefined, { metadata, ...fields }: Sent, isStatus: boolean): object {
  if (isStatus) return { ...found, status: fields.status };
  const labels = { ...found?.metadata.labels, ...metadata?.labels };
  const annotations = { ...found?.metadata.annotations, ...metadata?.annotations };
  return { status: {}, ...found, ...fields, metadata: { ...(found?.metadata ?? metadata), labels, annotations } };
}

function answer(code: number, body: object): TransportResponse {
  async function* text(): AsyncGenerator<string> {
    yield JSON.stringify(body);
  }
  return { status: code, body: text() };
}
