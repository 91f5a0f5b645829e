/**
 * Collects the messages of all groups during a turn and sends each node its messages at once, so that heartbeats of all
 * groups travel together (C10).
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import type { Message } from '#raft';
import type { Envelope } from '../peer/envelope.ts';
import type { Peers } from '../peer/peers.ts';
import type { Refrains } from '../peer/refrain.ts';
import type { Group } from './group.ts';

export class Outbox {
  readonly #peers: Peers;
  #letters = new Map<NodeId, Envelope[]>();
  /** Pending delta-encoded tables (refrains) by node. */
  #refrains = new Map<NodeId, Refrains>();

  constructor(peers: Peers) {
    this.#peers = peers;
  }

  /** Carries out a `send` effect. */
  post(group: Group, to: ReplicaId, message: Message): void {
    this.postAgain({ group: group.id, from: group.self, to, message });
  }

  /** Repeats an earlier message. */
  postAgain(envelope: Envelope): void {
    const node = nodeOf(envelope.to);
    const letters = this.#letters.get(node);
    if (letters === undefined) this.#letters.set(node, [envelope]);
    else letters.push(envelope);
  }

  /** These refrains are due. */
  recite(to: NodeId, refrains: Refrains): void {
    this.#refrains.set(to, { ...this.#refrains.get(to), ...refrains });
    if (!this.#letters.has(to)) this.#letters.set(to, []);
  }

  flush(): void {
    if (this.#letters.size === 0) return;
    const letters = this.#letters;
    const refrains = this.#refrains;
    this.#letters = new Map();
    if (refrains.size > 0) this.#refrains = new Map();
    for (const [node, messages] of letters) this.#peers.send(node, messages, refrains.get(node));
  }
}
