/** The network of a cluster: names, virtual addresses and policies, kept as the API server has them. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, Informer } from '../../../operator/src/kube/index.ts';
import type { NetworkPolicy, Pod, Resource } from '../objects.ts';
import { feed } from '../run.ts';
import { serveNames } from './dns.ts';
import { policyTable } from './policies.ts';
import { proxyTable } from './proxy.ts';
import { ServiceTable } from './service-table.ts';

/** Changes that come within this time are one. */
const GATHER_MS = 30;

export interface NetworkPlan {
  readonly api: Api;
  readonly log: (line: string) => void;
}

/** Serves it until the signal. */
export async function startNetwork({ api, log }: NetworkPlan, signal: AbortSignal): Promise<void> {
  const onError = (error: unknown): void => log(`network: ${String(error)}`);
  const services = new Table(onError, () => proxyTable(table));
  const table = new ServiceTable(api, { onChange: () => services.change(), onError });
  const policies = new Table(onError, () =>
    policyTable({
      policies: [...followed.items.values()],
      pods: [...pods.items.values()],
      namespaces: [...namespaces.items.values()],
    }),
  );
  const handlers = { onSet: () => policies.change(), onDelete: () => policies.change(), onError };
  const followed = new Informer<NetworkPolicy>(api, '/apis/networking.k8s.io/v1/networkpolicies', handlers);
  const pods = new Informer<Pod>(api, '/api/v1/pods', handlers);
  const namespaces = new Informer<Resource>(api, '/api/v1/namespaces', handlers);
  table.run(signal);
  for (const informer of [followed, pods, namespaces]) void informer.run(signal);
  await serveNames(table);
}

/** An nft table that is written anew when what it is made from changes. */
class Table {
  readonly #onError: (error: unknown) => void;
  readonly #make: () => string;
  #written = '';
  #isStale = false;
  #isWriting = false;

  constructor(onError: (error: unknown) => void, make: () => string) {
    this.#onError = onError;
    this.#make = make;
  }

  change(): void {
    this.#isStale = true;
    if (!this.#isWriting) void this.#write();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#isStale) {
      await delay(GATHER_MS);
      this.#isStale = false;
      const text = this.#make();
      if (text === this.#written) continue;
      this.#written = text;
      await feed(text, 'nft', '-f', '-').catch(this.#onError);
    }
    this.#isWriting = false;
  }
}
