// What the nodes say to each other, for faults that aim: who leads a group, and the moment in which somebody gives a
// promise. It knows the words of the protocol, and nothing of how the node is built.
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
  /** Of each group the leader of the highest term, and whoever has said something in it. */
  readonly #leaders = new Map<number, { readonly term: number; readonly host: string }>();
  readonly #speakers = new Map<number, Set<string>>();
  #listeners: readonly Listener[] = [];
  #leadListeners: readonly LeadListener[] = [];

  /** Groups in which several hosts have said something, in the order of their numbers. */
  get groups(): readonly number[] {
    const shared = [...this.#speakers].filter(([, hosts]) => hosts.size > 1);
    return shared.map(([group]) => group).toSorted((one, other) => one - other);
  }

  leaderOf(group: number): string | undefined {
    return this.#leaders.get(group)?.host;
  }

  /** Whoever has said something in the group and does not lead it, by name. */
  followersOf(group: number): readonly string[] {
    const leader = this.leaderOf(group);
    return [...(this.#speakers.get(group) ?? [])].filter((host) => host !== leader).toSorted();
  }

  /** Hears every message before it is sent, until the function that is returned is called. */
  listen(listener: Listener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener));
  }

  /** Hears of every lead that begins, until the function that is returned is called. */
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
