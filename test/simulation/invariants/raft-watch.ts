// What must hold of every group in every moment, whoever crashes: watched from outside, on what replicas say to each
// other and what they hand to their state machines. It knows the paper, and nothing of how the node is built.
//
//   I1  a term has one leader
//   I2  a replica votes for one candidate in a term, whatever it forgot since
//   I3  an entry of a term stands at one place, and is the same in every log (log matching)
//   I4  what one replica has applied at an index, every replica applies there, in every life (state machine safety)
//   I5  a leader of a later term holds whatever was applied before it (leader completeness)

/** A message as its sender hands it to the network; `kind` is the word of the protocol. */
export interface SaidMessage {
  readonly group: number;
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly term: number;
  readonly isGranted: boolean;
  readonly previous: Place | undefined;
  readonly entries: readonly SaidEntry[];
  /** Of an acknowledgement: up to where. */
  readonly match?: number | undefined;
  /** Of a beat and its answer. */
  readonly round?: number | undefined;
}

export interface Place {
  readonly index: number;
  readonly term: number;
}

export interface SaidEntry extends Place {
  /** Of its content. */
  readonly digest: number;
  /** Who votes from it on, once it is committed; undefined when it changes nothing of that. */
  readonly voters?: SaidVoters | undefined;
}

/** Replicas, of both halves of a change. */
export interface SaidVoters {
  readonly incoming: readonly number[];
  readonly outgoing: readonly number[];
}

/** Only a leader says these. */
const LEADING: ReadonlySet<string> = new Set(['append', 'commit', 'beat', 'timeout-now', 'install-snapshot']);

export class RaftWatch {
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
    if (LEADING.has(kind)) this.#leads(group, term, from);
    if (kind === 'vote-request') this.#gives(group, term, { voter: from, candidate: from });
    if (kind === 'vote-reply' && message.isGranted) this.#gives(group, term, { voter: from, candidate: to });
    if (kind === 'append') this.#appended(message);
  }

  /** A replica of the group on some node hands the entry to its state machine. */
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

  /** What was applied in an earlier term, or in this one, stands in the log of the leader as it was applied. */
  #holds(group: number, term: number, place: Place, by: string): void {
    const applied = this.#applied.get(`${group} ${place.index}`);
    if (applied === undefined || applied.term > term || applied.term === place.term) return;
    this.#onFault(
      `I5: ${by} holds term ${place.term} at ${place.index} of group ${group}, where ${shown(applied)} was applied`,
    );
  }
}

function isSame(one: SaidEntry, other: SaidEntry): boolean {
  return one.term === other.term && one.digest === other.digest;
}

function shown({ index, term }: Place): string {
  return `entry ${index} of term ${term}`;
}
