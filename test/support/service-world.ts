// The service on a node in one thread; the test controls the time.
import { LEVELS, type LevelRange, type Timers } from '#base';
import { nativeSha256 } from '#cluster';
import { type Constraint, type Event, Faults, NO_OPTIONS, ORIGIN } from '#model';
import { createMetrics, type Metrics } from '#observability';
import {
  createService,
  type OpenComponents,
  type Service,
  type ServiceLimits,
  type TransactReply,
  type TransactRequest,
} from '#service';
import { CoreWorld, repeatableBytes, settle } from './cluster/core-world.ts';
import { eventBytes } from './events.ts';

/** Timers that run when the test advances time. */
export class ManualTimers implements Timers {
  #nowMs = 0;
  #pending: { readonly atMs: number; readonly run: () => void }[] = [];

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#pending.push(timer);
    return () => void (this.#pending = this.#pending.filter((other) => other !== timer));
  }

  /** Number of pending timers. */
  get count(): number {
    return this.#pending.length;
  }

  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#pending.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#pending = this.#pending.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { run } of due) run();
  }
}

export interface Attempt {
  readonly events?: readonly Partial<Event>[];
  readonly constraints?: readonly Constraint[];
  readonly transactionId?: string;
  /** Adds faults that a transport would have found. */
  readonly faults?: Faults;
  readonly eventCount?: number;
  readonly eventBytes?: number;
  readonly floor?: TransactRequest['floor'];
}

export function transactRequest(databaseName: string, attempt: Attempt = {}): TransactRequest {
  const events = (attempt.events ?? [{}]).map(eventBytes);
  return {
    databaseName,
    transactionId: attempt.transactionId,
    floor: attempt.floor,
    origin: ORIGIN.GRPC_TRANSACTION,
    options: NO_OPTIONS,
    constraints: attempt.constraints ?? [],
    events,
    eventCount: attempt.eventCount ?? events.length,
    eventBytes: attempt.eventBytes ?? events.reduce((sum, bytes) => sum + bytes.length, 0),
    faults: attempt.faults ?? new Faults(),
    fields: { transactionId: 'transaction_id', events: 'events', constraints: 'constraints' },
  };
}

export class ServiceWorld {
  readonly core: CoreWorld;
  readonly timers: ManualTimers = new ManualTimers();
  readonly metrics: Metrics = createMetrics({ runtime: false });
  readonly #limits: Partial<ServiceLimits>;
  readonly #components: OpenComponents | undefined;
  #service: Service | undefined;
  readonly #random = repeatableBytes(1);

  constructor(limits: Partial<ServiceLimits> = {}, components?: OpenComponents, levels: LevelRange = LEVELS) {
    this.core = new CoreWorld({}, levels);
    this.#limits = limits;
    this.#components = components;
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error('The world is started first');
    return this.#service;
  }

  async start(): Promise<this> {
    await this.core.start();
    this.bind();
    return this;
  }

  /** Creates a service for the running node: at the start, and after a crash. */
  bind(): void {
    this.#service = createService({
      node: this.core.node,
      clock: { nowMs: () => this.core.nowMs },
      random: this.#random,
      sha256: nativeSha256,
      metrics: this.metrics,
      release: '1.2.3',
      limits: this.#limits,
      components: this.#components,
      timers: this.timers,
    });
  }

  transact(databaseName: string, attempt: Attempt = {}): Promise<TransactReply> {
    return this.service.transact(transactRequest(databaseName, attempt));
  }

  /** A database with `revision` transactions of one event. */
  async database(databaseName: string, revision: number = 0): Promise<void> {
    await this.service.createDatabase({ databaseName });
    for (let n = 0; n < revision; n++) await this.transact(databaseName, { events: [{ id: `e-${n}` }] });
  }

  async define(databaseName: string, ...payloads: readonly Uint8Array[]): Promise<readonly unknown[]> {
    const binding = this.core.node.catalog.lookup(databaseName);
    if (binding === undefined) throw new Error(`there is no ${databaseName}`);
    const outcomes: unknown[] = [];
    for (const payload of payloads) outcomes.push(await this.core.node.define(binding.group, payload));
    return outcomes;
  }

  /** Value of a metric without labels, or with the labels in the line. */
  async metric(line: string): Promise<number> {
    const { body } = await this.metrics.render();
    const found = body.split('\n').find((row) => row.startsWith(`${line} `));
    return Number(found?.slice(line.length + 1) ?? Number.NaN);
  }
}

export { settle };
export const NEVER: AbortSignal = new AbortController().signal;
