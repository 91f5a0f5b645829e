/**
 * Collects the messages of all groups during a turn and sends each node its messages at once, so that heartbeats of all
 * groups travel together (C10).
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import type { Message } from '#raft';
import type { Envelope } from '../peer/links.ts';
import type { Peers } from '../peer/peers.ts';
import type { SentTables } from '../peer/sent-table.ts';
import type { Group } from './group.ts';

export class Outbox {
  readonly #peers: Peers;
  #letters = new Map<NodeId, Envelope[]>();
  /** Tables of idle groups that are due, by node. */
  #tables = new Map<NodeId, SentTables>();

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

  /** The tables of idle groups are due. */
  repeat(to: NodeId, tables: SentTables): void {
    this.#tables.set(to, { ...this.#tables.get(to), ...tables });
    if (!this.#letters.has(to)) this.#letters.set(to, []);
  }

  flush(): void {
    if (this.#letters.size === 0) return;
    const letters = this.#letters;
    const tables = this.#tables;
    this.#letters = new Map();
    if (tables.size > 0) this.#tables = new Map();
    for (const [node, messages] of letters) this.#peers.send(node, messages, tables.get(node));
  }
}
