/**
 * One container of a pod and its processes, which run one after the other. A process is a child `runc run`, which
 * forwards signals and exits with the exit code of the container.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aborted } from 'node:util';
import type { V1Container, V1ContainerStatus } from '@kubernetes/client-node';
import { attempt } from '../run.ts';
import { removeBundle, type Sandbox, writeBundle } from './bundle.ts';
import { act, verdicts } from './probes.ts';

const KILLED = 137;
const MESSAGE_BYTES = 2048;

export class Container {
  readonly spec: V1Container;
  readonly pod: Sandbox;
  readonly status: V1ContainerStatus;
  /** The `runc run` process, whose exit code is that of the container. */
  child: ChildProcess | undefined;
  #exited = Promise.resolve(0);
  #starts = 0;

  constructor(pod: Sandbox, spec: V1Container) {
    this.pod = pod;
    this.spec = spec;
    const { name, image = '' } = spec;
    const state = { waiting: { reason: 'PodInitializing' } };
    this.status = { name, image, imageID: image, ready: false, started: false, restartCount: 0, state };
  }

  /** The id of the current process in runc. */
  get id(): string {
    return `${this.pod.id}-${this.spec.name}-${this.status.restartCount}`;
  }

  /** The path of a log: 0 is that of the last process, 1 of the one before. */
  logPath(before: number): string {
    return join(this.pod.dir, `${this.spec.name}-${this.status.restartCount - before}.log`);
  }

  /** Runs one process to its end and resolves to its exit code, or to undefined when it could not start. */
  async run(): Promise<number | undefined> {
    const { status, pod } = this;
    const image = pod.images.get(status.image);
    if (image === undefined) return this.wait('ErrImageNeverPull', `the harness has no image ${status.image}`);
    status.restartCount = this.#starts;
    const bundle = join(pod.dir, this.id);
    mkdirSync(bundle, { recursive: true });
    try {
      await writeBundle(bundle, this, image);
      return pod.isStopping ? undefined : await this.#runBundle(bundle);
    } catch (error) {
      return this.wait('CreateContainerConfigError', String(error));
    } finally {
      await removeBundle(bundle);
    }
  }

  /** Runs preStop, sends SIGTERM, and sends SIGKILL at the deadline. */
  async stop(deadline: AbortSignal): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    const over = Promise.race([this.#exited, aborted(deadline, child)]);
    const hook = this.spec.lifecycle?.preStop;
    const failure = hook && !deadline.aborted && (await Promise.race([act(hook, this, deadline), over]));
    if (typeof failure === 'string') this.pod.event('FailedPreStopHook', failure);
    child.kill('SIGTERM');
    await over;
    child.kill('SIGKILL');
    await this.#exited;
  }

  /** Reports the reason why the container does not start now. */
  wait(reason: string, message: string): undefined {
    this.#report({ state: { waiting: { reason, message } } });
  }

  #report(change: Partial<V1ContainerStatus>): void {
    Object.assign(this.status, change);
    void this.pod.report();
  }

  async #runBundle(bundle: string): Promise<number> {
    const { id } = this;
    const log = openSync(this.logPath(0), 'a');
    const child = spawn('runc', ['run', '--bundle', bundle, id], { stdio: ['ignore', log, log] });
    closeSync(log);
    this.child = child;
    this.#exited = untilGone(child, id);
    this.#starts += 1;
    const startedAt = new Date();
    const containerID = `runc://${id}`;
    this.#report({ containerID, state: { running: { startedAt } } });
    const probing = new AbortController();
    void this.#watch(probing.signal);
    const exitCode = await this.#exited;
    this.child = undefined;
    probing.abort();
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const message = exitCode === 0 ? {} : this.#lastWords();
    const state = { terminated: { exitCode, reason, ...message, startedAt, finishedAt: new Date(), containerID } };
    this.#report({ ready: false, started: false, state, lastState: state });
    return exitCode;
  }

  /** The end of the log, for the status of a container that asks for it. */
  #lastWords(): { readonly message?: string } {
    if (this.spec.terminationMessagePolicy !== 'FallbackToLogsOnError') return {};
    return { message: readFileSync(this.logPath(0)).subarray(-MESSAGE_BYTES).toString() };
  }

  /** Probes the container until the signal: reports its readiness, and ends it when the liveness probe fails. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.spec;
    for await (const isGood of verdicts('startup', startupProbe, this, signal)) {
      if (!isGood) return this.#fail('startup');
      break;
    }
    if (signal.aborted) return;
    this.#report({ started: true });
    const watchLife = async (): Promise<void> => {
      for await (const isAlive of verdicts('liveness', livenessProbe, this, signal))
        if (!isAlive) return this.#fail('liveness');
    };
    void watchLife();
    for await (const ready of verdicts('readiness', readinessProbe, this, signal))
      if (this.status.ready !== ready) this.#report({ ready });
  }

  #fail(kind: string): void {
    this.pod.event('Killing', `Container ${this.spec.name} failed ${kind} probe, will be restarted`);
    const { terminationGracePeriodSeconds: graceSeconds = 30 } = this.pod.pod.spec;
    void this.stop(AbortSignal.timeout(graceSeconds * 1000));
  }
}

async function untilGone(child: ChildProcess, id: string): Promise<number> {
  const [code]: (number | null)[] = await once(child, 'exit');
  // A signal that killed runc did not end its container.
  if (code === null) await attempt('runc', 'delete', '--force', id);
  return code ?? KILLED;
}
