/**
 * What is asked of the catalog and waits for an answer: proposes the entry when this node leads the catalog, and
 * otherwise says who does.
 *
 * Nobody is answered by what became of an entry, but by the catalog as it is applied: when it is as was asked for, that
 * is the answer, whoever proposed it and whenever. So asking is safe to repeat, to lose and to overtake.
 */
import { type Address, CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { type EntryId, type Input, lastId, ORIGIN } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine } from '../machine.ts';

/** This node cannot answer. */
export type Passed =
  /** That one leads the catalog. */
  { readonly kind: 'elsewhere'; readonly leader: Address } | { readonly kind: 'later'; readonly reason: string };

export interface CatalogAsksPorts {
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

/** What can be asked, as far as it differs from other things that can. */
export interface AskKind<Ask, Answer> {
  /**
   * What the catalog as this node has it says to that; undefined when it is not so yet. Only the leader has all of it
   * (`isLatest`).
   */
  readonly answer: (ask: Ask, isLatest: boolean) => Answer | undefined;
  /** Why it is not to be proposed, by what the leader sees before it does so for the first time. */
  readonly fault: (ask: Ask, group: Group) => Answer | Passed | undefined;
  readonly encode: (ask: Ask) => Uint8Array;
  /** Whether it waits for a leader, as long as for an answer; whoever asks otherwise goes on to the next node. */
  readonly isPatient?: true;
  /** Why there is no answer yet, if it is something else than usual. */
  readonly late?: (ask: Ask) => string | undefined;
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly endMs: number;
  readonly resolve: (answer: Answer | Passed) => void;
  /** In which it was proposed. */
  term: number;
}

export class CatalogAsks<Ask, Answer> {
  readonly #ports: CatalogAsksPorts;
  readonly #kind: AskKind<Ask, Answer>;
  #waiting: readonly Waiting<Ask, Answer>[] = [];
  /** The last entry that was proposed. */
  #proposed: EntryId = ORIGIN;

  constructor(ports: CatalogAsksPorts, kind: AskKind<Ask, Answer>) {
    this.#ports = ports;
    this.#kind = kind;
  }

  /** Answered by a later call of `settle`. */
  ask(ask: Ask): Promise<Answer | Passed> {
    const endMs = this.#ports.monotonicMs() + this.#ports.limits.leaderWaitMs;
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { ask, endMs, resolve, term: -1 }];
    });
  }

  /** Goes on with whoever waits. Called when no step is under way. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const left = waiting.filter((each) => {
      const answer = this.#answer(each);
      if (answer !== undefined) each.resolve(answer);
      return answer === undefined;
    });
    this.#waiting = [...left, ...this.#waiting];
  }

  #answer(waiting: Waiting<Ask, Answer>): Answer | Passed | undefined {
    const { find, monotonicMs, catalog } = this.#ports;
    const group = find(CATALOG_GROUP);
    const said = this.#kind.answer(waiting.ask, group?.isReady === true);
    if (said !== undefined) return said;
    const isLate = monotonicMs() >= waiting.endMs;
    if (group !== undefined && group.leader === undefined) {
      return this.#kind.isPatient === true && !isLate ? undefined : later('the catalog has no leader');
    }
    if (group === undefined || isLate) {
      return later(this.#kind.late?.(waiting.ask) ?? 'the catalog has not taken it in yet');
    }
    if (group.isOpening) return undefined;
    if (!group.isReady) return elsewhere(nodeOf(group.leader ?? group.self), catalog());
    // A request is judged by a catalog that shows what the requests before it have changed.
    if (waiting.term < 0 && this.#isUnderWay(group)) return undefined;
    const fault = waiting.term < 0 ? this.#kind.fault(waiting.ask, group) : undefined;
    if (fault === undefined) this.#propose(group, waiting);
    return fault;
  }

  /** Once a term: what a leader has proposed is an entry as long as it leads. */
  #propose(group: Group, waiting: Waiting<Ask, Answer>): void {
    const { term } = group.raft.hardState;
    if (waiting.term === term) return;
    waiting.term = term;
    // Nobody waits for this entry itself.
    group.proposals.offer([]);
    this.#ports.step(group, { kind: 'propose', payloads: [this.#kind.encode(waiting.ask)] });
    this.#proposed = lastId(group.raft.log);
  }

  /** Whether the catalog does not show the last proposal yet. A leader of a later term begins with what it applied. */
  #isUnderWay({ raft }: Group): boolean {
    const { index, term } = this.#proposed;
    return term === raft.hardState.term && this.#ports.catalog().applied.index < index;
  }
}

export function later(reason: string): Passed {
  return { kind: 'later', reason };
}

/** Who is to be asked instead. */
function elsewhere(leader: NodeId, catalog: CatalogMachine): Passed {
  const { peer } = catalog.nodes().find(({ node }) => node === leader) ?? {};
  if (peer === undefined || peer.port === 0)
    return later(`node ${leader} leads the catalog, and has not said where it is`);
  return { kind: 'elsewhere', leader: peer };
}
