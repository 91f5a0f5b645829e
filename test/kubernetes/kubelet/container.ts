/**
 * One container of a pod and its processes, one after the other. A process is a child `runc run`, whose exit code is
 * that of the container.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { V1Container } from '@kubernetes/client-node';
import { attempt } from '../run.ts';
import { removeBundle, writeBundle } from './bundle.ts';
import type { PodPlace } from './pod-place.ts';
import { act, watchHealth } from './probes.ts';

export interface Terminated {
  readonly exitCode: number;
  readonly reason: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly containerID: string;
}

export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | { readonly terminated: Terminated };

/** As the status of a pod has it. */
export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  ready: boolean;
  started: boolean;
  restartCount: number;
  containerID?: string;
  state: ContainerState;
  lastState: ContainerState | Record<string, never>;
}

const KILLED = 137;
const POLL_MS = 50;
const NO_IMAGE = { waiting: { reason: 'ErrImageNeverPull', message: 'the harness has no image of this name' } };

export class Container {
  readonly spec: V1Container;
  readonly status: ContainerStatus;
  readonly #place: PodPlace;
  #exited: Promise<number> | undefined;
  #id = '';

  constructor(place: PodPlace, spec: V1Container) {
    const { name, image = '' } = spec;
    this.#place = place;
    this.spec = spec;
    const state = { waiting: { reason: 'PodInitializing' } };
    this.status = { name, image, imageID: image, ready: false, started: false, restartCount: 0, state, lastState: {} };
  }

  get isRunning(): boolean {
    return this.#exited !== undefined;
  }

  /** As runc knows the process that runs. */
  get id(): string {
    return this.#id;
  }

  /** The log of a process; of the last one, or of the one before. */
  logPath(isPrevious: boolean): string {
    return join(this.#place.dir, `${this.status.name}-${this.status.restartCount - (isPrevious ? 1 : 0)}.log`);
  }

  /** Runs one process to its end, and answers its exit code; undefined when it could not begin. */
  async run(restartCount: number): Promise<number | undefined> {
    const { status, spec } = this;
    const image = this.#place.images.get(status.image);
    if (image === undefined) return this.#wait(NO_IMAGE);
    status.restartCount = restartCount;
    this.#id = `${this.#place.id}-${status.name}-${restartCount}`;
    const bundle = join(this.#place.dir, `${status.name}-${restartCount}`);
    mkdirSync(bundle, { recursive: true });
    try {
      await writeBundle(bundle, { id: this.#id, container: spec, image, place: this.#place });
    } catch (error) {
      await removeBundle(bundle);
      return this.#wait({ waiting: { reason: 'CreateContainerConfigError', message: String(error) } });
    }
    const code = this.#place.isStopping() ? undefined : await this.#runBundle(bundle);
    await removeBundle(bundle);
    return code;
  }

  /** preStop, SIGTERM, and SIGKILL when the grace period is over. `leftMs` is asked again and again. */
  async stop(leftMs: () => number): Promise<void> {
    const exited = this.#exited;
    if (exited === undefined) return;
    const hook = this.spec.lifecycle?.preStop;
    const isOver = (): Promise<unknown> => Promise.race([exited, until(() => leftMs() <= 0)]);
    if (hook !== undefined && leftMs() > 0) {
      const failure = await Promise.race([act(hook, this.#target(leftMs())), isOver()]);
      if (typeof failure === 'string') this.#place.event('FailedPreStopHook', failure);
    }
    // runc may not have come so far yet that there is somebody to tell.
    while (this.isRunning && leftMs() > 0 && !(await attempt('runc', 'kill', this.#id, 'TERM'))) await delay(POLL_MS);
    await isOver();
    if (this.isRunning) await this.kill();
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    while (this.isRunning) {
      await attempt('runc', 'kill', this.#id, 'KILL');
      await Promise.race([this.#exited, delay(POLL_MS)]);
    }
  }

  /** Waits between two starts. */
  backOff(reason: string, message: string): void {
    this.#wait({ waiting: { reason, message } });
  }

  #wait(state: ContainerState): undefined {
    this.status.state = state;
    this.#place.report();
  }

  #target(timeoutMs: number): Parameters<typeof act>[1] {
    return { address: this.#place.address, container: this.spec, runcId: this.#id, timeoutMs };
  }

  async #runBundle(bundle: string): Promise<number> {
    const { status } = this;
    const log = openSync(this.logPath(false), 'a');
    const child = spawn('runc', ['run', '--bundle', bundle, this.#id], { stdio: ['ignore', log, log] });
    this.#exited = new Promise((resolve) => {
      child.on('error', () => resolve(KILLED)).on('exit', (code) => resolve(code ?? KILLED));
    });
    const startedAt = nowText();
    status.containerID = `runc://${this.#id}`;
    status.state = { running: { startedAt } };
    this.#place.report();
    const probing = new AbortController();
    void watchHealth(this, { target: (ms) => this.#target(ms), place: this.#place, signal: probing.signal });
    const exitCode = await this.#exited;
    this.#exited = undefined;
    probing.abort();
    closeSync(log);
    await attempt('runc', 'delete', '--force', this.#id);
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const terminated = { exitCode, reason, startedAt, finishedAt: nowText(), containerID: status.containerID };
    Object.assign(status, { ready: false, started: false, state: { terminated }, lastState: { terminated } });
    this.#place.report();
    return exitCode;
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(POLL_MS);
}

/** The time as the API server writes it. */
export function nowText(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
