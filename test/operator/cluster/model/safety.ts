// Checks the safety rules of operator/src/cluster/plan.ts at each write of the operator, against the models instead of
// the observations of the operator.
import type { CairnModel } from './cairn.ts';
import { gibOf, type Item, isOwnedBy, isTerminating, isWithin, ordinalOf, type Sent, setOf, sizeOf } from './items.ts';
import { type KubeModel, LEARNERS, LEVELS, NAME, SELECTED_NODE } from './kube.ts';

/** Timestamps of Kubernetes have no fraction of a second. */
const CLOCK_STEP_MS = 1_000;
const FINALIZER = 'cairn.dev/volumes';

export class Safety {
  readonly violations: string[] = [];
  readonly #kube: KubeModel;
  readonly #cairn: CairnModel;
  readonly #nowMs: () => number;
  /** Time at which each node was last up. */
  readonly #upMs = new Map<number, number>();
  /** Releases of the pods, and the time since which they are unchanged. */
  #releases = '';
  #uniformMs = 0;

  constructor(kube: KubeModel, cairn: CairnModel, nowMs: () => number) {
    this.#kube = kube;
    this.#cairn = cairn;
    this.#nowMs = nowMs;
    kube.onWrite = (method, collection, item, body) => this.#check(method, collection, item, body);
    cairn.onFinalize = () => this.#checkFinalize();
    cairn.onDecommission = (id) => this.#checkDecommission(id);
    cairn.onRecover = (database) => this.#checkRecovery(database);
    cairn.onRefound = () => this.#checkStopped('the cluster is founded again');
  }

  /** Called after each step of the models. */
  observe(): void {
    for (const { id } of this.#cairn.nodes) if (this.#cairn.isUp(id)) this.#upMs.set(id, this.#nowMs());
    // The pod of a node that was removed ends when it can.
    const pods = this.#kube.list('pods').filter(({ metadata: { name } }) => {
      const set = this.#kube.get('statefulsets', setOf(name) ?? NAME);
      return set === undefined || isWithin(set.spec, name);
    });
    const releases = [...new Set(pods.map(({ spec }) => spec.release))].join();
    if (releases === '' || releases === this.#releases) return;
    this.#uniformMs = this.#nowMs();
    this.#releases = releases;
  }

  get #cluster(): Item | undefined {
    return this.#kube.get('cairnclusters', NAME);
  }

  #check(method: string, collection: string, item: Item | undefined, body: Sent): void {
    if (method === 'DELETE' && item !== undefined) this.#checkDeletion(collection, item, body);
    if (method === 'PATCH' && collection === 'statefulsets') this.#checkReplicas(body);
    if (method === 'PATCH' && collection === 'persistentvolumeclaims') this.#checkGrowth(body);
    if (method === 'PATCH' && collection === 'cairnclusters') this.#checkFinalizers(item, body);
    if (method === 'PATCH' && collection === 'cairnclusters/status') this.#checkStage(item, body);
    if (method === 'PATCH' && collection === 'pods' && item === undefined) this.#checkRefounding(body);
  }

  #checkDeletion(collection: string, item: Item, { preconditions, propagationPolicy }: Sent): void {
    const { name, uid } = item.metadata;
    if (preconditions?.uid !== uid) this.#note('KC10', `${collection} ${name} is deleted whatever its uid`);
    if (this.#cluster?.metadata.deletionTimestamp !== undefined) {
      const { node } = this.#kube.volumes.get(uid) ?? {};
      const isLost = this.#cluster.status.recoveryStage !== undefined && !this.#cairn.isMember(node);
      const isKept =
        (this.#cluster.spec.reclaimPolicy !== 'Delete' && !isLost) ||
        this.#cairn.processes.has(name.replace('data-', ''));
      if (collection === 'persistentvolumeclaims' && isKept) this.#note('KC4', `${name} is deleted with its cluster`);
    } else if (collection === 'pods') this.#checkPod(item);
    else if (collection === 'persistentvolumeclaims') this.#checkClaim(item);
    else if (collection === 'statefulsets' && propagationPolicy !== 'Orphan')
      this.#checkReplicas({ metadata: { name }, spec: { ...item.spec, replicas: 0 } });
    else if (collection === 'statefulsets') this.#checkOrphans(item);
  }

  /** KC13: Kubernetes deletes pods that a StatefulSet adopts while it is deleted, and keeps those without an owner. */
  #checkOrphans(set: Item): void {
    if (this.#cluster?.metadata.finalizers?.includes(FINALIZER) !== true)
      this.#note('KC13', 'the StatefulSet is deleted under its pods, and the CairnCluster has no finalizer');
    for (const pod of this.#kube.list('pods')) {
      if (setOf(pod.metadata.name) === set.metadata.name && !isOwnedBy(pod, set) && !isTerminating(pod))
        this.#note('KC13', `the StatefulSet is deleted before it owns ${pod.metadata.name}`);
    }
  }

  /** KC10: finalizers of other parties are kept. */
  #checkFinalizers(item: Item | undefined, { metadata }: Sent): void {
    const lost = (item?.metadata.finalizers ?? []).filter(
      (each) => !each.startsWith('cairn.dev/') && metadata?.finalizers?.includes(each) === false,
    );
    if (lost.length > 0) this.#note('KC10', `the finalizer ${lost.join()} of another party is removed`);
  }

  /** KC11: no size exceeds the cap, and a full volume that still grows causes no growth. */
  #checkGrowth({ spec }: Sent): void {
    if (spec === undefined) return;
    const { size, autoGrow } = this.#cluster?.spec.storage ?? {};
    const wanted = gibOf(spec.resources.requests.storage);
    const claims = this.#kube.list('persistentvolumeclaims');
    const largest = Math.max(...claims.map((claim) => gibOf(claim.spec.resources.requests.storage)));
    if (wanted <= Math.max(largest, gibOf(size))) return;
    if (wanted > gibOf(autoGrow?.maxSize)) this.#note('KC11', `volumes grow to ${wanted}Gi`);
    const { thresholdPercent = 0 } = autoGrow ?? {};
    const full = claims.filter(({ metadata: { name, labels } }) => {
      const isUsed = labels['cairn.dev/released'] === undefined;
      return isUsed && this.#kube.usageOf(name.replace('data-', '')) >= thresholdPercent;
    });
    if (full.length > 0 && full.every((claim) => gibOf(claim.status.capacity?.storage) < gibOf(sizeOf(claim))))
      this.#note('KC11', `volumes grow again before ${full[0]?.metadata.name} has grown`);
  }

  /** KC1, KC2 and KC8: checks the stop of a pod that is in service. */
  #checkPod({ metadata: { name, annotations } }: Item): void {
    const id = this.#cairn.processes.get(name)?.volume.node;
    if (id === undefined || !this.#cairn.isMember(id)) return;
    // Its StatefulSet ends it anyway, after the check of KC3. Its node may have joined since.
    const set = this.#kube.get('statefulsets', setOf(name) ?? NAME);
    if (set !== undefined && !isWithin(set.spec, name)) return;
    const { stableSeconds = 0, drainTimeoutSeconds = 0, strategy, paused } = this.#cluster?.spec.update ?? {};
    const hasBegun = annotations['cairn.dev/draining-since'] !== undefined;
    if (strategy !== 'Rolling' || (paused === true && !hasBegun))
      this.#note('KC10', `${name} is stopped against the spec`);
    // Nothing that is done for voters waits for a learner (KC14).
    const sets = setOf(name) === LEARNERS ? [NAME, LEARNERS] : [NAME];
    for (const other of sets.flatMap((each) => this.#podsOf(each))) {
      if (other === name) continue;
      const pod = this.#kube.get('pods', other);
      const ready = pod?.status.conditions?.find(({ type }) => type === 'Ready');
      const isStable = this.#nowMs() - Date.parse(ready?.lastTransitionTime ?? '') >= stableSeconds * 1000;
      if (!this.#cairn.isReady(other) || pod?.metadata.deletionTimestamp !== undefined || ready?.status !== 'True') {
        this.#note('KC1', `${name} is stopped while ${other} is not in service`);
      } else if (!isStable) this.#note('KC1', `${name} is stopped while ${other} is not stable`);
      else if (!this.#cairn.hasCaughtUp(this.#cairn.processes.get(other)?.volume.node))
        this.#note('KC1', `${name} is stopped while ${other} has not caught up`);
    }
    const members = this.#cairn.nodes.filter(({ state, isLearner }) => state !== 'removed' && !isLearner);
    if (members.length > 1) this.#checkQuorum(id, `${name} is stopped`);
    const led = this.#cairn.databases.filter(({ leader, replicas }) => leader === id && replicas.size > 1);
    const drainedMs = this.#nowMs() - Date.parse(annotations['cairn.dev/draining-since'] ?? '');
    if (led.length > 0 && !(drainedMs >= drainTimeoutSeconds * 1000))
      this.#note('KC8', `${name} is stopped with leaderships`);
    const { version = '' } = this.#cluster?.spec ?? {};
    if ((LEVELS[version] ?? 0) < this.#cairn.level) this.#note('KC5', `${name} is replaced by ${version}`);
  }

  /** Names of the pods that a StatefulSet should have. */
  #podsOf(set: string): readonly string[] {
    const pods = this.#kube.list('pods').filter(({ metadata }) => setOf(metadata.name) === set);
    const { replicas: length = pods.length } = this.#kube.get('statefulsets', set)?.spec ?? {};
    return Array.from({ length }, (_, ordinal) => `${set}-${ordinal}`);
  }

  /** KC4, KC9 and KC2: checks the loss of a volume. */
  #checkClaim({ metadata }: Item): void {
    const name = metadata.name.replace('data-', '');
    const id = this.#kube.volumes.get(metadata.uid)?.node;
    if (id === undefined || !this.#cairn.isMember(id)) return;
    const kubeNode = this.#kube.get('nodes', metadata.annotations[SELECTED_NODE] ?? '');
    const isNodeReady = kubeNode?.status.conditions?.some(({ status }) => status === 'True');
    if (this.#cairn.processes.has(name) || isNodeReady === true) this.#note('KC4', `the claim of ${name} is deleted`);
    const { policy = '', afterSeconds = 0 } = this.#cluster?.spec.repair ?? {};
    const downMs = this.#nowMs() - (this.#upMs.get(id) ?? 0);
    if (downMs < afterSeconds * 1000 - CLOCK_STEP_MS || policy !== 'Automatic')
      this.#note('KC4', `the claim of ${name} is deleted ${downMs} ms after its node was up, with policy ${policy}`);
    const leaderless = this.#cairn.databases.find(({ leader }) => leader === undefined);
    if (leaderless !== undefined) this.#note('KC9', `${name} is replaced while ${leaderless.name} has no leader`);
    this.#checkQuorum(id, `the claim of ${name} is deleted`);
  }

  #checkQuorum(without: number, what: string): void {
    const isUp = (id: number): boolean => id !== without && this.#cairn.isUp(id);
    const { voters, databases } = this.#cairn;
    const groups = [voters, ...databases.map(({ replicas }) => replicas)].filter((group) => group.has(without));
    if (!groups.every((group) => this.#cairn.hasMajority(group, isUp))) this.#note('KC2', `${what} without a quorum`);
  }

  get #isRecoveryWanted(): boolean {
    const { spec, status } = this.#cluster ?? {};
    return spec?.recovery !== undefined && spec.recovery.id !== status?.recoveryID;
  }

  /** KC12: checks that all nodes are stopped only on request, and when the catalog cannot have a quorum. */
  #checkStage(item: Item | undefined, { status }: Sent): void {
    if (status?.recoveryStage !== 'Stopped' || item?.status.recoveryStage === 'Stopped') return;
    if (item?.status.recoveryStage !== undefined) this.#note('KC12', 'the stage of a recovery goes back');
    if (!this.#isRecoveryWanted) this.#note('KC12', 'the nodes are stopped without a spec.recovery');
    if (this.#cairn.hasQuorum) this.#note('KC12', 'the nodes are stopped while the catalog has a quorum');
  }

  /** KC12: checks the pod that changes the data of the survivor. */
  #checkRefounding({ spec }: Sent): void {
    const { survivor, acceptLoss } = this.#cluster?.spec.recovery ?? {};
    if (!this.#isRecoveryWanted || spec?.survivor !== survivor || spec?.acceptLoss !== acceptLoss)
      this.#note('KC12', `cairn recover runs on ${spec?.survivor} against spec.recovery`);
    const claim = this.#kube.get('persistentvolumeclaims', `data-${spec?.survivor}`);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      this.#note('KC12', `the claim of the survivor ${spec?.survivor} is lost`);
    this.#checkStopped('cairn recover runs');
  }

  #checkStopped(what: string): void {
    const { processes } = this.#cairn;
    if (processes.size > 0) this.#note('KC12', `${what} while ${[...processes.keys()].join()} run`);
  }

  /** KC3: checks that pods are removed only when their nodes have no replicas and no vote. */
  #checkReplicas({ metadata: { name: set = '' } = {}, spec }: Sent): void {
    if (spec === undefined || (spec.replicas === 0 && this.#cluster?.status.recoveryStage !== undefined)) return;
    for (const { metadata } of this.#kube.list('pods')) {
      if (setOf(metadata.name) !== set || isWithin(spec, metadata.name)) continue;
      const id = this.#cairn.processes.get(metadata.name)?.volume.node ?? 0;
      const isNeeded = this.#cairn.databases.some(({ replicas, learners }) => replicas.has(id) || learners.has(id));
      if (isNeeded || this.#cairn.voters.has(id)) this.#note('KC3', `${metadata.name} is removed with its replicas`);
    }
  }

  /** KC3: checks that a node in service leaves only when the number of replicas decreases. */
  #checkDecommission(id: number): void {
    const pod = this.#cairn.processOf(id)?.pod;
    const { replicas = 0, learners = 0 } = this.#cluster?.spec ?? {};
    if (pod === undefined) return;
    const count = setOf(pod) === LEARNERS ? learners : replicas;
    if (ordinalOf(pod) < count) this.#note('KC3', `node ${id} (${pod}) leaves a pool of ${count}`);
  }

  #checkFinalize(): void {
    const { version } = this.#cluster?.spec ?? {};
    const members = this.#cairn.nodes.filter(({ state }) => state !== 'removed');
    if (members.some(({ id }) => this.#cairn.processOf(id)?.release !== version)) {
      this.#note('KC5', 'the upgrade is finalized before all nodes run the release');
    }
    const { finalize = '', finalizeAfterSeconds = 0 } = this.#cluster?.spec.update ?? {};
    const uniformMs = this.#nowMs() - this.#uniformMs;
    if (uniformMs < finalizeAfterSeconds * 1000 - CLOCK_STEP_MS || finalize !== 'Automatic')
      this.#note('KC5', `the upgrade is finalized after ${uniformMs} ms, with finalize ${finalize}`);
  }

  #checkRecovery(database: string): void {
    if (!this.#isRecoveryWanted) this.#note('KC9', `${database} is recovered without a spec.recovery`);
  }

  #note(rule: string, what: string): void {
    this.violations.push(`${rule}: ${what}`);
  }
}
