// Listens to the messages between nodes, for targeted faults: which node leads a group, and when a node makes a
// promise. It knows only the messages of the protocol, not the implementation of the node.
import { type NodeId, nodeOf, toReplicaId } from '#base';
import type { SaidMessage } from '../invariants/raft-watch.ts';

/** A message between two hosts. */
export interface Heard {
  readonly speaker: string;
  readonly hearer: string;
  readonly message: SaidMessage;
}

type Listener = (heard: Heard) => void;
type LeadListener = (group: number) => void;

export class Overhear {
  readonly #hosts = new Map<NodeId, string>();
  /** For each group, the leader of the highest term, and the hosts that have sent a message in it. */
  readonly #leaders = new Map<number, { readonly term: number; readonly host: string }>();
  readonly #speakers = new Map<number, Set<string>>();
  #listeners: readonly Listener[] = [];
  #leadListeners: readonly LeadListener[] = [];

  /** Groups in which several hosts have sent messages, sorted by number. */
  get groups(): readonly number[] {
    const shared = [...this.#speakers].filter(([, hosts]) => hosts.size > 1);
    return shared.map(([group]) => group).toSorted((one, other) => one - other);
  }

  leaderOf(group: number): string | undefined {
    return this.#leaders.get(group)?.host;
  }

  /** Names of the hosts that have sent a message in the group and do not lead it. */
  followersOf(group: number): readonly string[] {
    const leader = this.leaderOf(group);
    return [...(this.#speakers.get(group) ?? [])].filter((host) => host !== leader).toSorted();
  }

  /** Calls the listener with every message before it is sent, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener));
  }

  /** Calls the listener for every start of a leadership, until the returned function is called. */
  hearLeads(listener: LeadListener): () => void {
    this.#leadListeners = [...this.#leadListeners, listener];
    return () => void (this.#leadListeners = this.#leadListeners.filter((each) => each !== listener));
  }

  said(message: SaidMessage, speaker: string): void {
    const { group, from, to, kind, term } = message;
    this.#hosts.set(nodeOf(toReplicaId(from)), speaker);
    let speakers = this.#speakers.get(group);
    if (speakers === undefined) {
      speakers = new Set();
      this.#speakers.set(group, speakers);
    }
    speakers.add(speaker);
    const known = this.#leaders.get(group);
    if (kind === 'append' && (known === undefined || known.term < term)) {
      this.#leaders.set(group, { term, host: speaker });
      for (const listener of this.#leadListeners) listener(group);
    }
    if (this.#listeners.length === 0) return;
    const hearer = this.#hosts.get(nodeOf(toReplicaId(to)));
    if (hearer === undefined) return;
    for (const listener of this.#listeners) listener({ speaker, hearer, message });
  }
}
