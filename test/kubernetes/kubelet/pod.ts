/**
 * A pod from its assignment to a Kubernetes node to its end: network, volumes, init containers, containers, and their
 * status at the API server.
 *
 *   start ──▶ init containers, one after the other ──▶ containers, again and again ──▶ stop ──▶ deleted
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1ContainerStatus } from '@kubernetes/client-node';
import { type Api, EventRecorder, type Kind, pathOf, unless } from '../../../operator/src/kube/index.ts';
import type { Harness, Pod } from '../objects.ts';
import { coalesced, pause } from '../run.ts';
import { resolvConf } from '../world.ts';
import type { Sandbox } from './bundle.ts';
import { Container } from './container.ts';
import { attachNetwork, detachNetwork, nextAddress } from './pod-network.ts';
import { mountVolumes } from './volumes.ts';

/** The environment of all pods of a cluster. The folder is that of the cluster's files. */
export type PodWorld = Harness & Pick<Sandbox, 'dir' | 'images'>;

const PODS: Kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' };
const RETRY_MS = 500;
/** Ignores 404, when the pod is gone, and 409 and 422, when another pod has its name. */
const GONE = unless(404, 409, 422);
/** Kubernetes waits from 10 s to 5 min between starts, which would make tests longer. */
const BACKOFF_MS = 1000;
const BACKOFF_MS_MAX = 30_000;

export class RunningPod implements Sandbox {
  readonly id: string;
  readonly dir: string;
  readonly address: string = nextAddress();
  readonly api: Api;
  readonly images: Sandbox['images'];
  /** The latest version from the API server. */
  pod: Pod;
  volumes: ReadonlyMap<string, string> = new Map();
  /** Reports the latest status to the API server. */
  readonly report: () => Promise<void> = coalesced(() => this.#report());
  /** Writes the volumes again whose objects have changed. */
  readonly refresh: () => Promise<void> = coalesced(async () => {
    if (this.#isInitialized && !this.isStopping) await this.#mount();
  });
  readonly #log: (line: string) => void;
  readonly #warn = (error: unknown): void => this.#log(`${this.id}: ${String(error)}`);
  readonly #events: EventRecorder;
  readonly #inits: readonly Container[];
  readonly #containers: readonly Container[];
  readonly #stopping = new AbortController();
  /** Aborted at the end of the grace period. */
  readonly #deadline = new AbortController();
  #isInitialized = false;
  #isSilent = false;
  #life: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor({ api, images, dir, log }: PodWorld, pod: Pod) {
    this.id = `${pod.metadata.name.slice(0, 40)}-${pod.metadata.uid.slice(0, 8)}`;
    this.dir = join(dir, 'pods', this.id);
    this.api = api;
    this.images = images;
    this.pod = pod;
    this.#log = log;
    this.#events = new EventRecorder(api, { controller: 'kubelet', instance: this.id, onError: this.#warn });
    const { initContainers = [], containers } = pod.spec;
    this.#inits = initContainers.map((spec) => new Container(this, spec));
    this.#containers = containers.map((spec) => new Container(this, spec));
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  container(name: string): Container | undefined {
    return [...this.#inits, ...this.#containers].find(({ spec }) => spec.name === name);
  }

  /** Runs the containers of the pod, unless they run already. */
  start(): void {
    this.#life ??= this.#live();
  }

  /** Ends the pod within the grace period, which a later call can only shorten, and deletes it from the API server. */
  stop(graceSeconds: number): Promise<void> {
    if (graceSeconds === 0) this.#deadline.abort();
    else setTimeout(() => this.#deadline.abort(), graceSeconds * 1000);
    this.#stopping.abort();
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Ends the pod like a machine without power, without any report. */
  cutPower(): Promise<void> {
    this.#isSilent = true;
    return this.stop(0);
  }

  event(reason: string, message: string): void {
    // Probes fail regularly while a container starts.
    if (reason !== 'Unhealthy') this.#log(`${this.id}: ${reason}: ${message}`);
    if (this.#isSilent) return;
    const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: this.pod.metadata };
    this.#events.record(regarding, { type: 'Warning', reason, action: 'Run', note: message });
  }

  async #live(): Promise<void> {
    const { restartPolicy = 'Always' } = this.pod.spec;
    await this.#prepare();
    for (const init of this.#inits) {
      const isDone = await this.#keepRunning(init, restartPolicy === 'Never' ? 'Never' : 'OnFailure');
      if (!isDone) return;
    }
    this.#isInitialized = true;
    await Promise.all(this.#containers.map((container) => this.#keepRunning(container, restartPolicy)));
  }

  /** Creates the network and the volumes of the pod; repeats this after failures while the pod is wanted. */
  async #prepare(): Promise<void> {
    while (!this.isStopping) {
      try {
        await attachNetwork(this.id, this.address);
        writeNames(this);
        return await this.#mount();
      } catch (error) {
        this.event('FailedMount', String(error));
        await pause(RETRY_MS, this.#stopping.signal);
      }
    }
  }

  /**
   * Starts the processes of a container one after the other by the restart policy. Resolves to true when the last one
   * has succeeded.
   */
  async #keepRunning(container: Container, policy: string): Promise<boolean> {
    for (let backoffMs = BACKOFF_MS; !this.isStopping; backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX)) {
      const code = await container.run();
      if (code === 0 && policy !== 'Always') return true;
      if ((code !== undefined && policy === 'Never') || this.isStopping) return false;
      if (code !== undefined) {
        const message = `${container.spec.name} ended with ${code}, and is started again after ${backoffMs / 1000} s`;
        this.event('BackOff', message);
        container.wait('CrashLoopBackOff', message);
      }
      await pause(backoffMs, this.#stopping.signal);
    }
    return false;
  }

  async #mount(): Promise<void> {
    this.volumes = await mountVolumes(this, join(this.dir, 'volumes'));
  }

  async #stop(): Promise<void> {
    const all = [...this.#inits, ...this.#containers];
    await Promise.all(all.map((container) => container.stop(this.#deadline.signal)));
    await this.#life;
    await detachNetwork(this.id);
    if (this.#isSilent) return;
    await this.report();
    const preconditions = { uid: this.pod.metadata.uid };
    await this.api.delete(pathOf(PODS, this.pod.metadata), { gracePeriodSeconds: 0, preconditions }).catch(GONE);
  }

  async #report(): Promise<void> {
    if (this.#isSilent) return;
    const { metadata } = this.pod;
    const body = { metadata: { uid: metadata.uid }, status: this.#status() };
    await this.api
      .patch(`${pathOf(PODS, this.pod.metadata)}/status`, body)
      .catch(GONE)
      .catch(this.#warn);
  }

  #status(): object {
    const { address, pod } = this;
    const inits = this.#inits.map(({ status }) => Object.assign({}, status, { ready: exitCodeOf(status) === 0 }));
    const containers = this.#containers.map(({ status }) => status);
    const isReady = containers.every(({ ready }) => ready);
    return {
      phase: this.#phase(),
      podIP: address,
      // Without `replace`, the API server would merge the addresses.
      podIPs: [{ ip: address }, { $patch: 'replace' }],
      initContainerStatuses: inits,
      containerStatuses: containers,
      conditions: [conditionOf(pod, 'Ready', isReady ? 'True' : 'False')],
    };
  }

  #phase(): string {
    const { restartPolicy } = this.pod.spec;
    const codes = this.#containers.map(({ status }) => exitCodeOf(status));
    const isOver = (this.isStopping || restartPolicy !== 'Always') && !codes.includes(undefined);
    if (isOver) return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
    const hasFailed = this.#inits.some(({ status }) => (exitCodeOf(status) ?? 0) !== 0);
    if (hasFailed && restartPolicy === 'Never') return 'Failed';
    return this.#isInitialized ? 'Running' : 'Pending';
  }
}

function exitCodeOf({ state }: V1ContainerStatus): number | undefined {
  return state?.terminated?.exitCode;
}

function conditionOf({ status: { conditions } }: Pod, type: string, status: string): object {
  const before = conditions?.find((condition) => condition.type === type);
  return { type, status, lastTransitionTime: before?.status === status ? before.lastTransitionTime : new Date() };
}

/** Writes /etc/hosts and /etc/resolv.conf of the pod. */
function writeNames({ dir, address, pod: { spec, metadata } }: RunningPod): void {
  const { hostname = metadata.name, subdomain } = spec;
  const full = subdomain === undefined ? '' : `${hostname}.${subdomain}.${metadata.namespace}.svc.cluster.local `;
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'hosts'), `127.0.0.1 localhost\n${address} ${full}${hostname}\n`);
  writeFileSync(join(dir, 'resolv.conf'), resolvConf(metadata.namespace));
}
