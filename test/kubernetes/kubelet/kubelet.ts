/**
 * A kubelet that plays all Kubernetes nodes of a world: it runs their pods by runc, and is the provisioner of their
 * volumes. One process for all of them costs the memory of one, and each node has a lease of its own.
 *
 * Invariants:
 *   K1  A pod has at most one network and one process per container at a time; its next incarnation has another uid.
 *   K2  A pod object disappears from the API server only after its containers have ended, unless it was deleted with
 *       force.
 *   K3  A node without power neither renews its lease nor reports on its pods, and none of their processes runs.
 */
import { join } from 'node:path';
import { type Api, type Handlers, Informer } from '../../../operator/src/kube/index.ts';
import { type Claim, namespaceOf, type Pod, type Resource, type Values, type Volume } from '../objects.ts';
import type { Image } from './images.ts';
import { hasPower, type NodePlan, REPORT_MS, registerNode, reportNode } from './node.ts';
import { createStorageClass, provision, reclaim } from './provisioner.ts';
import { type PodWorld, RunningPod } from './running-pod.ts';

export interface KubeletPlan {
  readonly api: Api;
  readonly dir: string;
  readonly nodes: readonly NodePlan[];
  readonly images: ReadonlyMap<string, Image>;
  readonly log: (line: string) => void;
}

const REFRESH_MS = 30_000;

export class Kubelet {
  readonly #plan: KubeletPlan;
  readonly #world: PodWorld;
  readonly #running = new Map<string, RunningPod>();
  readonly #powerless = new Set<string>();
  #pods: Informer<Pod> | undefined;

  constructor(plan: KubeletPlan) {
    this.#plan = plan;
    this.#world = { api: plan.api, dir: join(plan.dir, 'pods'), images: plan.images, log: plan.log };
  }

  /** Registers the nodes and follows the API server until the signal; resolves when pods can be scheduled. */
  async start(signal: AbortSignal): Promise<void> {
    const { api, nodes } = this.#plan;
    await Promise.all([createStorageClass(api), ...nodes.map((node) => registerNode(api, node))]);
    const volumes = join(this.#plan.dir, 'volumes');
    this.#pods = this.#follow<Pod>('/api/v1/pods', signal, {
      onSet: (pod) => this.#keep(pod),
      onDelete: (pod) => void this.#running.get(pod.metadata.uid)?.stop(0),
    });
    const followed = [
      this.#pods,
      this.#follow<Resource>('/api/v1/nodes', signal, { onSet: (node) => this.#powerOf(node) }),
      this.#follow<Claim>('/api/v1/persistentvolumeclaims', signal, {
        onSet: (claim) => this.#try(provision(api, volumes, claim)),
      }),
      this.#follow<Volume>('/api/v1/persistentvolumes', signal, {
        onSet: (volume) => this.#try(reclaim(api, volume)),
      }),
      ...['configmaps', 'secrets'].map((kind) =>
        this.#follow<Values>(`/api/v1/${kind}`, signal, { onSet: (values) => this.#refresh(namespaceOf(values)) }),
      ),
    ];
    await Promise.all(followed.map(({ synced }) => synced));
    const timers = [
      setInterval(() => this.#report(), REPORT_MS),
      // Tokens of service accounts become old.
      setInterval(() => this.#refresh(), REFRESH_MS),
    ];
    signal.addEventListener('abort', () => timers.forEach(clearInterval));
  }

  /** The pod of this name that runs, or is ending. */
  find(namespace: string, name: string): RunningPod | undefined {
    const all = [...this.#running.values()];
    return all.findLast(({ pod }) => pod.metadata.name === name && namespaceOf(pod) === namespace);
  }

  #follow<Item extends Resource>(path: string, signal: AbortSignal, handlers: Handlers<Item>): Informer<Item> {
    const onError = (error: unknown): void => this.#plan.log(`${path}: ${String(error)}`);
    const informer = new Informer<Item>(this.#plan.api, path, { ...handlers, onError });
    void informer.run(signal);
    return informer;
  }

  #keep(pod: Pod): void {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds = 30 } = pod.metadata;
    const isOurs = this.#plan.nodes.some(({ name }) => name === pod.spec.nodeName);
    if (!isOurs || this.#powerless.has(pod.spec.nodeName ?? '')) return;
    const known = this.#running.get(uid);
    const isOver = pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
    const running = known ?? (isOver && deletionTimestamp === undefined ? undefined : this.#begin(pod));
    if (running === undefined) return;
    const hasChanged = fieldsOf(running.pod) !== fieldsOf(pod);
    running.pod = pod;
    if (deletionTimestamp !== undefined) this.#end(running, graceSeconds);
    else if (hasChanged) this.#try(running.refresh());
  }

  #begin(pod: Pod): RunningPod {
    const { uid, name, deletionTimestamp } = pod.metadata;
    const running = new RunningPod(this.#world, pod);
    this.#running.set(uid, running);
    this.#plan.log(`${name}: begins on ${pod.spec.nodeName}`);
    if (deletionTimestamp === undefined) running.start();
    return running;
  }

  #end(running: RunningPod, graceSeconds: number): void {
    const { uid, name } = running.pod.metadata;
    const end = async (): Promise<void> => {
      await running.stop(graceSeconds);
      if (this.#running.delete(uid)) this.#plan.log(`${name}: is gone`);
    };
    this.#try(end());
  }

  #powerOf(node: Resource): void {
    const { name } = node.metadata;
    if (hasPower(node) === !this.#powerless.has(name)) return;
    if (hasPower(node)) {
      this.#powerless.delete(name);
      this.#plan.log(`${name}: has power again`);
      for (const pod of this.#pods?.items.values() ?? []) this.#keep(pod);
      return;
    }
    this.#powerless.add(name);
    this.#plan.log(`${name}: has no power`);
    for (const [uid, running] of this.#running) {
      if (running.pod.spec.nodeName !== name) continue;
      this.#running.delete(uid);
      this.#try(running.cutPower());
    }
  }

  #report(): void {
    for (const { name } of this.#plan.nodes) {
      if (!this.#powerless.has(name)) this.#try(reportNode(this.#plan.api, name));
    }
  }

  /** Of one namespace, or of all. */
  #refresh(namespace?: string): void {
    for (const running of this.#running.values()) {
      if (namespace === undefined || namespaceOf(running.pod) === namespace) this.#try(running.refresh());
    }
  }

  #try(action: Promise<void>): void {
    action.catch((error: unknown) => this.#plan.log(String(error)));
  }
}

/** What a pod may project of itself, and others may change. */
function fieldsOf({ metadata: { labels, annotations } }: Pod): string {
  return JSON.stringify([labels, annotations]);
}
