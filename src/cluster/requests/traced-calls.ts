/**
 * What a trace shows of a core: what it asks another node, what it answers to one, and the entries of its log that came
 * of it. Spans are made in the front, where their library is; here is found out when they began and ended.
 *
 * ```
 *   asks:      proposal or read of a traced request ── open ──> context ahead of the request ── answer ──> close
 *   answers:   context, then the request ── answering ──> accepted, refused, or the index of a read ──> close
 *   entries:   entered ── persisted ── committed ── applied                           on the node that leads
 * ```
 * Nothing waits for it, and what is not traced does not come here. Of a request whose context is lost, is no context or
 * is one too many, this node shows nothing. What is never answered is forgotten when others need its place.
 */
import type { DatabaseError, GroupId, LogIndex, NodeId, Random, Term } from '#base';
import { nodeOf } from '#base';
import type { Message, ReplicaId } from '#raft';
import type { Group } from '../group/group.ts';
import { contextBelow, isSampled, type SentContext, type TraceContext } from '../peer/trace-context.ts';
import type { SpanFact } from '../thread/link.ts';

export interface TracedCallsPorts {
  /** Whether spans of this node go anywhere: if not, no other node makes it gather any. */
  readonly isTraced: boolean;
  readonly monotonicMs: () => number;
  readonly random: Random;
  readonly told: (fact: SpanFact) => void;
}

/** A span that has begun. */
export type OpenSpan = Omit<SpanFact, 'endMs' | 'failure'>;

type Beginning = Pick<SpanFact, 'what' | 'role' | 'group' | 'node'>;

interface TracedEntry {
  readonly span: OpenSpan & { readonly events: { name: string; atMs: number }[] };
  readonly index: LogIndex;
  readonly term: Term;
}

/** Of each kind; of more nothing is shown. */
export const TRACED_MAX = 1_024;

const SPAN_ID_BYTES = 8;
const HEX = 16;
const NONE: readonly OpenSpan[] = [];
const NO_CONTEXTS: readonly SentContext[] = [];

export class TracedCalls {
  readonly #ports: TracedCallsPorts;
  /** Contexts whose requests come next, or have no answer yet. */
  readonly #heard = new BoundedMap<string, OpenHeard>();
  readonly #entries = new Map<GroupId, TracedEntry[]>();
  #entryCount = 0;
  /** In which spans the question for reads is asked that is being made. */
  #reading: readonly TraceContext[] = [];
  #asked: readonly OpenSpan[] = NONE;

  constructor(ports: TracedCallsPorts) {
    this.#ports = ports;
  }

  open(parent: TraceContext, beginning: Beginning): OpenSpan {
    const { random, monotonicMs } = this.#ports;
    const spanId = Array.from(random.bytes(SPAN_ID_BYTES), (byte) => byte.toString(HEX).padStart(2, '0')).join('');
    return { ...beginning, parent, spanId, startMs: monotonicMs(), events: [] };
  }

  close(span: OpenSpan, error?: DatabaseError): void {
    const failure = error && { code: error.code, reason: error.details.reason };
    this.#ports.told({ ...span, endMs: this.#ports.monotonicMs(), failure });
  }

  /** Another node says in which spans its next requests are sent. */
  heard(from: NodeId, contexts: readonly SentContext[]): void {
    if (!this.#ports.isTraced) return;
    const heardMs = this.#ports.monotonicMs();
    for (const context of contexts) {
      if (isSampled(context)) this.#heard.set(keyOf(from, context), { context, heardMs });
    }
  }

  /** What another node has forwarded, if it is traced. */
  answering(
    node: NodeId,
    request: { readonly session: number; readonly id: number },
    asked: Asked,
  ): OpenSpan | undefined {
    if (this.#heard.size === 0) return undefined;
    const heard = this.#heard.take(keyOf(node, { kind: 'forward', ...request }));
    return heard && this.open(heard.context, { ...asked, role: 'server', node });
  }

  /** Runs the step that asks for reads, in these spans; returns the spans of the question, if another node is asked. */
  reading(contexts: readonly TraceContext[], step: () => void): readonly OpenSpan[] {
    this.#reading = contexts;
    step();
    const asked = this.#asked;
    this.#reading = [];
    this.#asked = NONE;
    return asked;
  }

  /** A group sends a message: of a question returns what is to be said ahead of it. */
  sending(group: Group, to: ReplicaId, message: Message): readonly SentContext[] {
    if (message.kind === 'read-reply' && this.#heard.size > 0) this.#replied(group, nodeOf(to), message);
    if (message.kind !== 'read-request' || this.#reading.length === 0) return NO_CONTEXTS;
    const { id } = message;
    const node = nodeOf(to);
    this.#asked = this.#reading.map((parent) =>
      this.open(parent, { what: 'read', role: 'client', group: group.id, node }),
    );
    // Who answers shows it once, below the first of those that share the question.
    return this.#asked.slice(0, 1).map((span): SentContext => {
      return { kind: 'read', group: group.id, id, ...contextBelow(span.parent, span.spanId) };
    });
  }

  /** A proposal is an entry of this node's log. */
  entered(parent: TraceContext, group: GroupId, index: LogIndex, term: Term): void {
    if (this.#entryCount >= TRACED_MAX) return;
    this.#entryCount += 1;
    const open = this.open(parent, { what: 'entry', role: 'internal', group, node: undefined });
    const entry = { span: { ...open, events: [] }, index, term };
    const entries = this.#entries.get(group);
    if (entries === undefined) this.#entries.set(group, [entry]);
    else entries.push(entry);
  }

  /** This node's log has synced a group's entries up to this one. */
  persisted(group: GroupId, index: LogIndex): void {
    if (this.#entryCount > 0) this.#reached(group, index, 'cairn.synced');
  }

  /** A majority has them. */
  committed(group: GroupId, index: LogIndex): void {
    if (this.#entryCount > 0) this.#reached(group, index, 'cairn.committed');
  }

  applied(group: GroupId, { index, term }: { readonly index: LogIndex; readonly term: Term }): void {
    if (this.#entryCount === 0) return;
    const entries = this.#entries.get(group) ?? [];
    // Terms of a log never go back: behind an entry of a later term there is none of an earlier one, and never will be.
    const left = entries.filter((entry) => entry.index > index && entry.term >= term);
    if (left.length === entries.length) return;
    this.#entryCount -= entries.length - left.length;
    if (left.length > 0) this.#entries.set(group, left);
    else this.#entries.delete(group);
    // Where another entry was committed in its place, its request says what became of it.
    for (const entry of entries) if (entry.index === index && entry.term === term) this.close(entry.span);
  }

  /** The group is gone from here, or begins anew behind a snapshot: its entries are applied nowhere that is seen. */
  closed(group: GroupId): void {
    this.#entryCount -= this.#entries.get(group)?.length ?? 0;
    this.#entries.delete(group);
  }

  #reached(group: GroupId, index: LogIndex, name: string): void {
    const atMs = this.#ports.monotonicMs();
    for (const { index: at, span } of this.#entries.get(group) ?? []) {
      if (at <= index && span.events.every((event) => event.name !== name)) span.events.push({ name, atMs });
    }
  }

  #replied({ id: group }: Group, node: NodeId, reply: Extract<Message, { readonly kind: 'read-reply' }>): void {
    const heard = this.#heard.take(keyOf(node, { kind: 'read', group, id: reply.id }));
    if (heard === undefined) return;
    const span = this.open(heard.context, { what: 'read', role: 'server', group, node });
    const failure = reply.index === undefined ? READS_FULL : undefined;
    this.#ports.told({ ...span, startMs: heard.heardMs, endMs: this.#ports.monotonicMs(), failure });
  }
}

/** As the node is told who asks so. */
const READS_FULL = { code: 'rate_limited', reason: 'PendingReads' } as const;

type Asked = Pick<SpanFact, 'what' | 'group'>;

interface OpenHeard {
  readonly context: TraceContext;
  readonly heardMs: number;
}

type Request =
  | { readonly kind: 'forward'; readonly session: number; readonly id: number }
  | { readonly kind: 'read'; readonly group: GroupId; readonly id: number };

function keyOf(node: NodeId, request: Request): string {
  return `${node} ${request.kind} ${request.kind === 'forward' ? request.session : request.group} ${request.id}`;
}

/** The oldest goes when there are too many: it is of something that came to nothing. */
export class BoundedMap<Key, Value> {
  readonly #values = new Map<Key, Value>();

  get size(): number {
    return this.#values.size;
  }

  set(key: Key, value: Value): void {
    // What is said again is not old.
    this.#values.delete(key);
    const [oldest] = this.#values.size < TRACED_MAX ? [] : this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
    this.#values.set(key, value);
  }

  /** Each key may be taken meanwhile. */
  keys(): Iterable<Key> {
    return this.#values.keys();
  }

  take(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.#values.delete(key);
    return value;
  }
}
