/** The Kubernetes cluster for a program that `npm run kube` runs: kubectl, helm, and waits for a condition. */
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../operator/src/kube/index.ts';
import type { Pod } from './objects.ts';
import { run } from './run.ts';

const WITHIN_MS = 120_000;
const POLL_MS = 100;

export class Cluster {
  readonly api: Api;
  /** The folder of this cluster, with all logs. */
  readonly dir: string;
  /** The name of the Cairn image in pod specs. */
  readonly image: string;

  /** @throws Error outside of `npm run kube`. */
  constructor() {
    const { KUBECONFIG: kubeconfig, KUBE_DIR: dir, KUBE_IMAGE: image } = process.env;
    if (kubeconfig === undefined || dir === undefined || image === undefined)
      throw new Error('this runs in a cluster: npm run kube -- ...');
    this.api = Api.fromFile(kubeconfig);
    this.dir = dir;
    this.image = image;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return run('kubectl', ...args);
  }

  helm(...args: readonly string[]): Promise<string> {
    return run('helm', ...args);
  }

  pod(name: string): Promise<Pod> {
    return this.api.get(`/api/v1/namespaces/default/pods/${name}`);
  }

  /** Runs a command in a container of a pod; the container needs no shell. */
  execute(pod: string, ...command: readonly string[]): Promise<string> {
    return this.kubectl('exec', pod, '--', ...command);
  }

  /** Waits until these pods are ready, and none of them has a uid of `before`. */
  async untilReady(names: readonly string[], before: ReadonlySet<string> = new Set()): Promise<void> {
    await eventually(`${names.join(', ')} to be ready`, async () => {
      const pods = await Promise.all(names.map((name) => this.pod(name)));
      return pods.every((pod) => isReady(pod) && !before.has(pod.metadata.uid));
    });
  }

  async uidsOf(names: readonly string[]): Promise<ReadonlySet<string>> {
    const pods = await Promise.all(names.map((name) => this.pod(name)));
    return new Set(pods.map(({ metadata }) => metadata.uid));
  }
}

export function isReady({ status, metadata }: Pod): boolean {
  const condition = status.conditions?.find(({ type }) => type === 'Ready');
  return condition?.status === 'True' && metadata.deletionTimestamp === undefined;
}

/**
 * Waits until `isSo` resolves to true, and ignores its failures until then. @throws Error with the last failure when it
 * takes too long.
 */
export async function eventually(
  what: string,
  isSo: () => Promise<boolean>,
  withinMs: number = WITHIN_MS,
): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  for (let failure = ''; ; ) {
    try {
      if (await isSo()) return;
      failure = '';
    } catch (error) {
      failure = `: ${String(error)}`;
    }
    if (performance.now() > deadlineMs) throw new Error(`waited ${withinMs / 1000} s for ${what}${failure}`);
    await delay(POLL_MS);
  }
}
