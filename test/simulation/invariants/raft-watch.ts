// Invariants of every group that must always hold, checked from outside on the messages between replicas and on the
// entries that they apply. They are based on the paper, not on the implementation.
//
//   I1  a term has one leader
//   I2  a replica votes for one candidate per term, even after a restart
//   I3  an entry with an index and term is the same in every log (log matching)
//   I4  all replicas apply the same entry at an index, also after restarts (state machine safety)
//   I5  a leader of a later term has everything that was applied before (leader completeness)
//   I11 a learner gives no vote, asks for none, and leads nothing

/** A message as its sender passes it to the network; `kind` is its name in the protocol. */
export interface SaidMessage {
  readonly group: number;
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly term: number;
  readonly isGranted: boolean;
  readonly previous: Place | undefined;
  readonly entries: readonly SaidEntry[];
  /** Acknowledged index. */
  readonly match?: number | undefined;
  /** Round of a heartbeat or its answer. */
  readonly round?: number | undefined;
}

export interface Place {
  readonly index: number;
  readonly term: number;
}

export interface SaidEntry extends Place {
  /** Hash of the content. */
  readonly digest: number;
  /** Voters once the entry is committed; undefined when it does not change them. */
  readonly voters?: SaidVoters | undefined;
}

/** Replicas of both halves of a membership. */
export interface SaidVoters {
  readonly incoming: readonly number[];
  readonly outgoing: readonly number[];
}

/** Replicas of a group that a node may have one after the other: replica = node · 2^20 + copy. */
const COPIES = 2 ** 20;

/** Kinds of messages that only a leader sends. */
const LEADING: ReadonlySet<string> = new Set(['append', 'commit', 'beat', 'timeout-now', 'install-snapshot']);

/** Kinds of messages that only a voter sends; a reply only if it grants. */
const VOTING: ReadonlySet<string> = new Set(['pre-vote-request', 'vote-request', 'vote-reply']);

export class RaftWatch {
  /** Nodes that must not vote. */
  readonly learners: Set<number> = new Set();
  readonly #onFault: (what: string) => void;
  readonly #leaders = new Map<string, number>();
  readonly #votes = new Map<string, number>();
  readonly #entries = new Map<string, SaidEntry>();
  readonly #applied = new Map<string, SaidEntry>();

  constructor(onFault: (what: string) => void) {
    this.#onFault = onFault;
  }

  said(message: SaidMessage): void {
    const { group, from, to, kind, term } = message;
    if (mustVote(message) && this.learners.has(Math.floor(from / COPIES)))
      this.#onFault(`I11: replica ${from} of group ${group} is a learner, and says ${kind}`);
    if (LEADING.has(kind)) this.#leads(group, term, from);
    if (kind === 'vote-request') this.#gives(group, term, { voter: from, candidate: from });
    if (kind === 'vote-reply' && message.isGranted) this.#gives(group, term, { voter: from, candidate: to });
    if (kind === 'append') this.#appended(message);
  }

  /** Called when a replica of the group applies the entry. */
  applied(group: number, entry: SaidEntry, by: string): void {
    const key = `${group} ${entry.index}`;
    const known = this.#applied.get(key);
    if (known === undefined) this.#applied.set(key, entry);
    else if (!isSame(known, entry))
      this.#onFault(`I4: ${by} applies ${shown(entry)} of group ${group}, where ${shown(known)} was applied before`);
    this.#matches(group, entry, by);
  }

  #leads(group: number, term: number, leader: number): void {
    const key = `${group} ${term}`;
    const known = this.#leaders.get(key);
    if (known === undefined) this.#leaders.set(key, leader);
    else if (known !== leader)
      this.#onFault(`I1: replicas ${known} and ${leader} both lead group ${group} in term ${term}`);
  }

  #gives(
    group: number,
    term: number,
    { voter, candidate }: { readonly voter: number; readonly candidate: number },
  ): void {
    const key = `${group} ${term} ${voter}`;
    const known = this.#votes.get(key);
    if (known === undefined) this.#votes.set(key, candidate);
    else if (known !== candidate)
      this.#onFault(`I2: replica ${voter} of group ${group} votes for ${known} and ${candidate} in term ${term}`);
  }

  #appended({ group, from, term, previous, entries }: SaidMessage): void {
    const by = `replica ${from}, leader of term ${term},`;
    for (const entry of entries) {
      this.#matches(group, entry, by);
      this.#holds(group, term, entry, by);
    }
    if (previous !== undefined) this.#holds(group, term, previous, by);
  }

  #matches(group: number, entry: SaidEntry, by: string): void {
    const key = `${group} ${entry.index} ${entry.term}`;
    const known = this.#entries.get(key);
    if (known === undefined) this.#entries.set(key, entry);
    else if (known.digest !== entry.digest)
      this.#onFault(`I3: ${by} has another entry ${shown(entry)} of group ${group} than ${shown(known)}`);
  }

  /** Everything that was applied in this or an earlier term is in the leader's log as it was applied. */
  #holds(group: number, term: number, place: Place, by: string): void {
    const applied = this.#applied.get(`${group} ${place.index}`);
    if (applied === undefined || applied.term > term || applied.term === place.term) return;
    this.#onFault(
      `I5: ${by} holds term ${place.term} at ${place.index} of group ${group}, where ${shown(applied)} was applied`,
    );
  }
}

function mustVote({ kind, isGranted }: SaidMessage): boolean {
  return LEADING.has(kind) || (VOTING.has(kind) && (kind !== 'vote-reply' || isGranted));
}

function isSame(one: SaidEntry, other: SaidEntry): boolean {
  return one.term === other.term && one.digest === other.digest;
}

function shown({ index, term }: Place): string {
  return `entry ${index} of term ${term}`;
}
