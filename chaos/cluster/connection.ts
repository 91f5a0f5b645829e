/**
 * A client's way to a cluster of real nodes: one call after the other, each to a node that is drawn, with a time limit.
 * Fills the history, in the same shapes as the simulation, so that the same checks judge it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Rng } from '../../test/simulation/engine/random.ts';
import type { AnyOperation, CallKind, Calls, History, Operation, Outcome } from '../../test/simulation/history.ts';
import type { Caller } from '../../test/simulation/workload/client.ts';
import { GrpcFailure } from '../../test/support/grpc-client.ts';
import { isLostFetch } from '../support/lost-fetch.ts';
import { instanceOf, perform, scopeOf } from './calls.ts';
import { type Address, HttpFailure, Line } from './line.ts';

/** Where a client sends requests: a node, or what stands before several. */
export interface Server {
  readonly name: string;
  readonly address: Address;
  /** Another one for each process that answers there. */
  readonly incarnation: number;
}

export type Servers = readonly [Server, ...Server[]];

export interface ConnectionOptions {
  readonly client: string;
  /** Those that it may ask now. */
  readonly members: () => Servers;
  readonly history: History;
  readonly random: Rng;
  /** How often it goes to another node before a call. */
  readonly roamShare: number;
  readonly deadlineMs: number;
  /** Whether nodes have others answer what they hold no copy of. */
  readonly isRelayed: boolean;
}

/** Errors of calls with an effect that say for certain that there was none, and will be none. */
const DEFINITE_CODES: ReadonlySet<string> = new Set([
  'invalid_argument',
  'already_exists',
  'too_large',
  'rate_limited',
  'storage_full',
  'busy',
  'not_leader',
]);
const DEFINITE_REASONS: ReadonlySet<string> = new Set(['NoLeader', 'NotCommitted']);
/** Who was sent away by a node that does not hold the database. */
const ELSEWHERE = 'NotReplica';

/** Microseconds of the clock that every time of a history is of. */
export function nowUs(): number {
  return Math.round(performance.now() * 1000);
}

export class Connection implements Caller, Disposable {
  readonly client: string;
  readonly #options: ConnectionOptions;
  #member: Server;
  #line: Line | undefined;
  #leader: { readonly name: string; readonly atUs: number } | undefined;

  constructor(options: ConnectionOptions) {
    this.client = options.client;
    this.#options = options;
    this.#member = options.random.pick(options.members());
  }

  /** The node that led the database of the last transaction, and when that was heard. */
  get leader(): { readonly name: string; readonly atUs: number } | undefined {
    return this.#leader;
  }

  async sleep(delayUs: number): Promise<void> {
    await delay(delayUs / 1000);
  }

  /** Asks, waits for what comes of it, and writes both down. */
  async call<Kind extends CallKind>(kind: Kind, request: Calls[Kind]['request']): Promise<Operation<Kind>> {
    const { history, random, roamShare } = this.#options;
    if (random.chance(roamShare)) this.roam();
    const operation: Operation<Kind> = {
      number: history.operations.length,
      kind,
      client: this.client,
      request,
      invokedUs: nowUs(),
      isDoubled: false,
      returnedUs: Number.POSITIVE_INFINITY,
      session: undefined,
      outcome: { kind: 'unknown' },
    };
    history.operations.push(operation as unknown as AnyOperation);
    const member = this.#member;
    const { incarnation } = member;
    const outcome = await this.#ask(kind, request);
    operation.outcome = outcome;
    if (outcome.kind === 'unknown') return operation;
    operation.returnedUs = nowUs();
    // What a process shows never goes back; the next process of the same node may be behind it.
    if (member.incarnation === incarnation) operation.session = `${this.client} to ${member.name} ${incarnation}`;
    return operation;
  }

  /** Goes to another node, whichever is drawn. */
  roam(): void {
    this.#member = this.#options.random.pick(this.#options.members());
    this.#hangUp();
  }

  [Symbol.dispose](): void {
    this.#hangUp();
  }

  async #ask<Kind extends CallKind>(
    kind: Kind,
    request: Calls[Kind]['request'],
  ): Promise<Outcome<Calls[Kind]['value']>> {
    this.#line ??= new Line(this.#member.address, {
      onLeader: (name) => {
        this.#leader = { name, atUs: nowUs() };
      },
      isRelayed: this.#options.isRelayed,
    });
    try {
      return { kind: 'ok', value: await perform(kind, this.#line, request, this.#options.deadlineMs) };
    } catch (failure) {
      const outcome = outcomeOf(failure);
      if (outcome.kind === 'unknown' || (outcome.kind === 'error' && outcome.reason === ELSEWHERE)) this.roam();
      return outcome;
    }
  }

  #hangUp(): void {
    this.#line?.[Symbol.dispose]();
    this.#line = undefined;
  }
}

/** What a client knows after a failure. Whatever may still take effect later is unknown, and never returned. */
function outcomeOf(failure: unknown): Outcome<never> {
  if (failure instanceof HttpFailure) {
    const { status, reason, scope } = failure;
    // Only reads go over HTTP.
    const code = status === 404 ? 'not_found' : `http_${status}`;
    return { kind: 'error', code, reason, isDefinite: true, scope };
  }
  if (failure instanceof GrpcFailure) return outcomeOfGrpc(failure);
  if (isLostFetch(failure)) return { kind: 'unknown' };
  throw failure;
}

function outcomeOfGrpc({ info, trailers }: GrpcFailure): Outcome<never> {
  const code = info?.reason;
  if (code === undefined) return { kind: 'unknown' };
  const reason = info?.metadata['reason'];
  const scope = instanceOf(trailers) === undefined ? undefined : scopeOf(trailers);
  const isDefinite = DEFINITE_CODES.has(code) || (reason !== undefined && DEFINITE_REASONS.has(reason));
  if (isDefinite || code === 'not_found') return { kind: 'error', code, reason, isDefinite, scope };
  // A bug of the server is nothing that a client takes for an answer.
  if (code === 'internal') return { kind: 'error', code, reason, isDefinite: false, scope };
  return { kind: 'unknown' };
}
