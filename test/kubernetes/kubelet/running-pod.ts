/**
 * A pod from its assignment to a Kubernetes node to its end: network, volumes, init containers, containers, and what
 * the API server is told of them.
 *
 *   start ──▶ init containers, one after the other ──▶ containers, again and again ──▶ stop ──▶ deleted
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, unless } from '../../../operator/src/kube/index.ts';
import { namespaceOf, type Pod, podPath } from '../objects.ts';
import { resolvConf } from '../world.ts';
import { Container, nowText } from './container.ts';
import { recordEvent } from './events.ts';
import type { Image } from './images.ts';
import { attachNetwork, detachNetwork, nextAddress } from './pod-network.ts';
import type { PodPlace } from './pod-place.ts';
import { podStatus } from './pod-status.ts';
import { Projector } from './projected.ts';
import { PodVolumes } from './volumes.ts';

export interface PodWorld {
  readonly api: Api;
  /** Folders of pods are in it. */
  readonly dir: string;
  readonly images: ReadonlyMap<string, Image>;
  readonly log: (line: string) => void;
}

const RETRY_MS = 500;
/** 404: the pod is gone; 409 and 422: another one has its name. */
const GONE = unless(404, 409, 422);
/** Kubernetes waits from 10 s to 5 min between starts, which only makes tests longer. */
const BACKOFF_MS = 1000;
const BACKOFF_MS_MAX = 30_000;
/** A container that has run for so long begins with a short wait again. */
const STEADY_MS = 60_000;

export class RunningPod {
  readonly #world: PodWorld;
  readonly #place: PodPlace;
  readonly #inits: readonly Container[];
  readonly #containers: readonly Container[];
  readonly #startTime = nowText();
  readonly #link: string;
  #pod: Pod;
  #isInitialized = false;
  #started: Promise<void> = Promise.resolve();
  #loops: readonly Promise<boolean>[] = [];
  #stopped: Promise<void> | undefined;
  #endMs = Number.POSITIVE_INFINITY;
  #isSilent = false;
  #reporting: Promise<void> | undefined;
  #isStale = false;

  constructor(world: PodWorld, pod: Pod) {
    const { name, uid } = pod.metadata;
    const id = `${name.slice(0, 40)}-${uid.slice(0, 8)}`;
    const dir = join(world.dir, id);
    const projector = new Projector(world.api);
    this.#world = world;
    this.#pod = pod;
    this.#link = `v${uid.slice(0, 8)}`;
    this.#place = {
      id,
      dir,
      address: nextAddress(),
      network: `/run/netns/${id}`,
      volumes: new PodVolumes(world.api, projector, dir),
      projector,
      images: world.images,
      pod: () => this.#pod,
      isStopping: () => this.#isStopping,
      report: () => this.#report(),
      event: (reason, message) => void recordEvent(world.api, this.#pod, { reason, message }),
    };
    this.#inits = (pod.spec.initContainers ?? []).map((spec) => new Container(this.#place, spec));
    this.#containers = pod.spec.containers.map((spec) => new Container(this.#place, spec));
  }

  get pod(): Pod {
    return this.#pod;
  }

  set pod(pod: Pod) {
    this.#pod = pod;
  }

  container(name: string): Container | undefined {
    return [...this.#inits, ...this.#containers].find(({ status }) => status.name === name);
  }

  start(): void {
    this.#started = this.#start();
  }

  /** Writes volumes anew whose objects have changed. */
  async refresh(): Promise<void> {
    if (this.#isInitialized && !this.#isStopping) await this.#place.volumes.refresh(this.#pod);
  }

  /** Ends it within the grace period, which a later call can only shorten, and deletes it from the API server. */
  stop(graceSeconds: number): Promise<void> {
    this.#endMs = Math.min(this.#endMs, performance.now() + graceSeconds * 1000);
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Ends it as a machine without power does: nothing is reported any more. */
  async cutPower(): Promise<void> {
    this.#isSilent = true;
    await this.stop(0);
  }

  get #isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  async #start(): Promise<void> {
    const { id, dir, address, volumes } = this.#place;
    await this.#untilDone('FailedCreatePodSandBox', () => attachNetwork(id, this.#link, address));
    mkdirSync(dir, { recursive: true });
    writeNames(dir, address, this.#pod);
    await this.#untilDone('FailedMount', () => volumes.mount(this.#pod));
    for (const init of this.#inits) if (!(await this.#keepRunning(init, true))) return;
    if (this.#isStopping) return;
    this.#isInitialized = true;
    this.#loops = this.#containers.map((container) => this.#keepRunning(container, false));
  }

  /** Repeats what fails, as long as the pod is wanted. */
  async #untilDone(reason: string, action: () => Promise<void>): Promise<void> {
    while (!this.#isStopping) {
      try {
        return await action();
      } catch (error) {
        this.#world.log(`${this.#place.id}: ${reason}: ${String(error)}`);
        this.#place.event(reason, String(error));
        await delay(RETRY_MS);
      }
    }
  }

  /** Starts its processes one after the other, by the restart policy; whether the last one has done its work. */
  async #keepRunning(container: Container, isInit: boolean): Promise<boolean> {
    const { restartPolicy = 'Always' } = this.#pod.spec;
    let backoffMs = BACKOFF_MS;
    for (let starts = 0; !this.#isStopping; ) {
      const fromMs = performance.now();
      const code = await container.run(starts);
      const isDone = code === 0 && (isInit || restartPolicy !== 'Always');
      const isGivenUp = code !== undefined && restartPolicy === 'Never';
      if (isDone || isGivenUp) return isDone;
      if (this.#isStopping) break;
      if (performance.now() - fromMs > STEADY_MS) backoffMs = BACKOFF_MS;
      if (code !== undefined) {
        starts += 1;
        const message = `back-off ${backoffMs / 1000}s restarting failed container=${container.status.name}`;
        this.#world.log(`${this.#place.id}: ${container.status.name} ended with ${code}`);
        this.#place.event('BackOff', message);
        container.backOff('CrashLoopBackOff', message);
      }
      await Promise.race([delay(backoffMs), this.#untilStopping()]);
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
    }
    return false;
  }

  async #untilStopping(): Promise<void> {
    while (!this.#isStopping) await delay(RETRY_MS);
  }

  async #stop(): Promise<void> {
    const { id, volumes } = this.#place;
    const left = (): number => this.#endMs - performance.now();
    const all = [...this.#inits, ...this.#containers];
    await Promise.all(all.map((container) => container.stop(left)));
    await this.#started;
    await Promise.all(this.#loops);
    await detachNetwork(id, this.#link);
    await volumes.unmount();
    if (this.#isSilent) return;
    await this.#reporting;
    this.#report();
    await this.#reporting;
    const { uid } = this.#pod.metadata;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#world.api.delete(podPath(this.#pod), options).catch(GONE);
  }

  /** Sends the latest status; what changes while one is on its way goes with the next. */
  #report(): void {
    this.#isStale = true;
    this.#reporting ??= this.#send().finally(() => {
      this.#reporting = undefined;
    });
  }

  async #send(): Promise<void> {
    while (this.#isStale && !this.#isSilent) {
      this.#isStale = false;
      const status = podStatus(this.#pod, {
        inits: this.#inits.map((each) => each.status),
        containers: this.#containers.map((each) => each.status),
        isInitialized: this.#isInitialized,
        isStopping: this.#isStopping,
        startTime: this.#startTime,
        address: this.#place.address,
      });
      const { uid } = this.#pod.metadata;
      await this.#world.api
        .patch(`${podPath(this.#pod)}/status`, { metadata: { uid }, status })
        .catch(GONE)
        .catch((error: unknown) => this.#world.log(`${this.#place.id}: status: ${String(error)}`));
    }
  }
}

/** /etc/hosts and /etc/resolv.conf. */
function writeNames(dir: string, address: string, { spec, metadata }: Pod): void {
  const namespace = namespaceOf({ metadata });
  const host = spec.hostname ?? metadata.name;
  const full = spec.subdomain === undefined ? '' : `${host}.${spec.subdomain}.${namespace}.svc.cluster.local `;
  writeFileSync(join(dir, 'hosts'), `127.0.0.1 localhost\n${address} ${full}${host}\n`);
  writeFileSync(join(dir, 'resolv.conf'), resolvConf(namespace));
}
