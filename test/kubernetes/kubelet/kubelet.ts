/**
 * A kubelet that plays all Kubernetes nodes of a world: it runs their pods by runc, and is the provisioner of their
 * volumes. One process for all of them costs the memory of one, and each node reports for itself. One with the label
 * `power=off` is a machine without power.
 *
 * Invariants:
 *   K1  A pod has at most one network and one process per container at a time; its next incarnation has another uid.
 *   K2  A pod object disappears from the API server only after its containers have ended, unless it was deleted with
 *       force.
 *   K3  A node without power reports neither on itself nor on its pods, and none of their processes runs.
 */
import { join } from 'node:path';
import { type Claim, follow, type Pod, type Resource } from '../objects.ts';
import { registerNode, reportNode } from './node.ts';
import { type PodWorld, RunningPod } from './pod.ts';
import { createStorageClass, provision } from './provisioner.ts';

/** Interval at which nodes report their status and pods get changed files. */
const REPORT_MS = 4000;

export class Kubelet {
  readonly #world: PodWorld;
  readonly #running = new Map<string, RunningPod>();
  /** The names of nodes that have power. */
  readonly #nodes = new Set<string>();
  #pods: ReadonlyMap<string, Pod> = new Map();

  constructor(world: PodWorld) {
    this.#world = world;
  }

  /** Registers nodes, given as names with their zones, and runs their pods until the process ends. */
  async start(nodes: ReadonlyMap<string, string>): Promise<void> {
    const world = this.#world;
    const { api, dir } = world;
    await Promise.all([createStorageClass(api), ...[...nodes].map(([name, zone]) => registerNode(api, name, zone))]);
    this.#pods = follow<Pod>(world, '/api/v1/pods', {
      onSet: (pod) => this.#keep(pod),
      onDelete: ({ metadata }) => this.#try(this.#end(metadata.uid, 0)),
    });
    follow<Resource>(world, '/api/v1/nodes', { onSet: (node) => this.#followPower(node) });
    follow<Claim>(world, '/api/v1/persistentvolumeclaims', {
      onSet: (claim) => this.#try(provision(api, join(dir, 'volumes'), claim)),
    });
    setInterval(() => {
      for (const name of this.#nodes) this.#try(reportNode(api, name));
      for (const running of this.#running.values()) this.#try(running.refresh());
    }, REPORT_MS);
  }

  /** The running or ending pod of this name. */
  find(namespace: string, name: string): RunningPod | undefined {
    const all = [...this.#running.values()];
    return all.findLast(({ pod: { metadata } }) => metadata.name === name && metadata.namespace === namespace);
  }

  #keep(pod: Pod): void {
    const { uid, name, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    const known = this.#running.get(uid);
    if (!this.#nodes.has(pod.spec.nodeName ?? '')) {
      if (known !== undefined && this.#running.delete(uid)) this.#try(known.cutPower());
      return;
    }
    const isOver = pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
    if (known === undefined && isOver && deletionTimestamp === undefined) return;
    if (known === undefined) this.#world.log(`${name}: is assigned to ${pod.spec.nodeName}`);
    const running = known ?? new RunningPod(this.#world, pod);
    this.#running.set(uid, running);
    running.pod = pod;
    if (deletionTimestamp === undefined) running.start();
    else this.#try(this.#end(uid, deletionGracePeriodSeconds));
  }

  async #end(uid: string, graceSeconds: number): Promise<void> {
    const running = this.#running.get(uid);
    await running?.stop(graceSeconds);
    if (this.#running.delete(uid)) this.#world.log(`${running?.id}: has ended`);
  }

  #followPower({ metadata: { name, labels } }: Resource): void {
    const hasPower = labels?.['power'] !== 'off';
    if (hasPower === this.#nodes.has(name)) return;
    this.#world.log(`${name}: has ${hasPower ? 'power' : 'no power'}`);
    if (hasPower) this.#nodes.add(name);
    else this.#nodes.delete(name);
    for (const pod of this.#pods.values()) this.#keep(pod);
  }

  #try(action: Promise<void>): void {
    action.catch((error: unknown) => this.#world.log(String(error)));
  }
}
