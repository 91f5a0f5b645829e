// The safety rules of operator/src/cluster/plan.ts, checked at each write of the operator against the models, and not
// against what the operator observed.
import type { CairnModel } from './cairn.ts';
import { type Item, type KubeModel, LEVELS, NAME, ordinalOf, type Sent } from './kube.ts';

export class Safety {
  readonly violations: string[] = [];
  readonly #kube: KubeModel;
  readonly #cairn: CairnModel;
  readonly #nowMs: () => number;

  constructor(kube: KubeModel, cairn: CairnModel, nowMs: () => number) {
    this.#kube = kube;
    this.#cairn = cairn;
    this.#nowMs = nowMs;
    kube.onWrite = (method, collection, item, body) => this.#check(method, collection, item, body);
    cairn.onFinalize = () => this.#checkFinalize();
    cairn.onRecover = (database) => this.#checkRecovery(database);
  }

  get #cluster(): Item | undefined {
    return this.#kube.get('cairnclusters', NAME);
  }

  #check(method: string, collection: string, item: Item | undefined, body: Sent): void {
    const isEnding = this.#cluster?.metadata.deletionTimestamp !== undefined;
    if (isEnding) return;
    if (method === 'DELETE' && collection === 'pods' && item !== undefined) this.#checkPod(item);
    if (method === 'DELETE' && collection === 'persistentvolumeclaims' && item !== undefined) this.#checkClaim(item);
    if (method === 'DELETE' && collection === 'statefulsets' && body.propagationPolicy !== 'Orphan') {
      this.#note('KC3', 'the StatefulSet is deleted with its pods');
    }
    if (method === 'PATCH' && collection === 'statefulsets') this.#checkReplicas(body.spec?.replicas);
  }

  /** KC1, KC2 and KC8: a pod in service is stopped. */
  #checkPod({ metadata: { name, annotations } }: Item): void {
    const id = this.#cairn.processes.get(name)?.volume.node;
    if (id === undefined || !this.#cairn.isMember(id)) return;
    const set = this.#kube.get('statefulsets', NAME);
    const { stableSeconds = 0, drainTimeoutSeconds = 0 } = this.#cluster?.spec.update ?? {};
    const count = set?.spec.replicas ?? 0;
    for (let ordinal = 0; ordinal < count; ordinal += 1) {
      const other = `${NAME}-${ordinal}`;
      if (other === name) continue;
      const pod = this.#kube.get('pods', other);
      const ready = pod?.status.conditions?.find(({ type }) => type === 'Ready');
      const isStable = this.#nowMs() - Date.parse(ready?.lastTransitionTime ?? '') >= stableSeconds * 1000;
      if (!this.#cairn.isReady(other) || pod?.metadata.deletionTimestamp !== undefined || ready?.status !== 'True') {
        this.#note('KC1', `${name} is stopped while ${other} is not in service`);
      } else if (!isStable) this.#note('KC1', `${name} is stopped while ${other} is not stable`);
    }
    const members = this.#cairn.nodes.filter(({ state }) => state !== 'removed');
    if (members.length > 1) this.#checkQuorum(id, `${name} is stopped`);
    const led = this.#cairn.databases.filter(({ leader, replicas }) => leader === id && replicas.size > 1);
    const drainedMs = this.#nowMs() - Date.parse(annotations['cairn.dev/draining-since'] ?? '');
    if (led.length > 0 && !(drainedMs >= drainTimeoutSeconds * 1000))
      this.#note('KC8', `${name} is stopped with leaderships`);
    const { release = '' } = set?.spec.template.spec ?? {};
    if ((LEVELS[release] ?? 0) < this.#cairn.level) this.#note('KC5', `${name} is replaced by ${release}`);
  }

  /** KC4 and KC2: a volume is lost. */
  #checkClaim({ metadata }: Item): void {
    const name = metadata.name.replace('data-', '');
    const id = this.#kube.volumes.get(metadata.uid)?.node;
    if (id === undefined || !this.#cairn.isMember(id)) return;
    const kubeNode = this.#kube.get('nodes', metadata.annotations['volume.kubernetes.io/selected-node'] ?? '');
    const isNodeReady = kubeNode?.status.conditions?.some(({ status }) => status === 'True');
    if (this.#cairn.processes.has(name) || isNodeReady === true) this.#note('KC4', `the claim of ${name} is deleted`);
    this.#checkQuorum(id, `the claim of ${name} is deleted`);
  }

  #checkQuorum(without: number, what: string): void {
    const isUp = (id: number): boolean => id !== without && this.#cairn.isUp(id);
    const { voters, databases } = this.#cairn;
    const groups = [voters, ...databases.map(({ replicas }) => replicas)].filter((group) => group.has(without));
    if (!groups.every((group) => this.#cairn.hasMajority(group, isUp))) this.#note('KC2', `${what} without a quorum`);
  }

  /** KC3: nodes that still have replicas or a vote lose their pods. */
  #checkReplicas(replicas: number | undefined): void {
    const pods = this.#kube.list('pods').filter(({ metadata }) => ordinalOf(metadata.name) >= (replicas ?? Infinity));
    for (const { metadata } of pods) {
      const id = this.#cairn.processes.get(metadata.name)?.volume.node;
      const isNeeded = this.#cairn.databases.some((database) => database.replicas.has(id ?? 0));
      if (isNeeded || this.#cairn.voters.has(id ?? 0))
        this.#note('KC3', `${metadata.name} is removed with its replicas`);
    }
  }

  #checkFinalize(): void {
    const { version } = this.#cluster?.spec ?? {};
    const members = this.#cairn.nodes.filter(({ state }) => state !== 'removed');
    if (members.some(({ id }) => this.#cairn.processOf(id)?.release !== version)) {
      this.#note('KC5', 'the upgrade is finalized before all nodes run the release');
    }
  }

  #checkRecovery(database: string): void {
    const { spec, status } = this.#cluster ?? {};
    const isWanted = spec?.recovery !== undefined && spec.recovery.id !== status?.recoveryID;
    if (!isWanted) this.#note('KC9', `${database} is recovered without a spec.recovery`);
  }

  #note(rule: string, what: string): void {
    this.violations.push(`${rule}: ${what}`);
  }
}
