/** One connection to the Service of each cluster, which is replaced when its address or credential changes. */
import { isDeepStrictEqual } from 'node:util';
import type { CairnCluster } from '../api/index.ts';
import { keyOf } from '../kube/index.ts';
import { type Identities, serviceAddress } from './access.ts';
import { Channel, type Identity } from './channel.ts';

export class Connections {
  readonly #identities: Pick<Identities, 'of'>;
  readonly #open = new Map<string, { address: string; identity: Identity; channel: Channel }>();

  constructor(identities: Pick<Identities, 'of'>) {
    this.#identities = identities;
  }

  async to(cluster: CairnCluster): Promise<Channel> {
    const identity = await this.#identities.of(cluster);
    const address = serviceAddress(cluster);
    const key = keyOf(cluster);
    const open = this.#open.get(key);
    if (open?.address === address && isDeepStrictEqual(open.identity, identity)) return open.channel;
    open?.channel[Symbol.dispose]();
    const channel = new Channel(address, identity);
    this.#open.set(key, { address, identity, channel });
    return channel;
  }

  close(cluster: CairnCluster): void {
    this.#open.get(keyOf(cluster))?.channel[Symbol.dispose]();
    this.#open.delete(keyOf(cluster));
  }
}
