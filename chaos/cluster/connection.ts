/**
 * The connection of a client to a cluster of real nodes. It makes one call at a time, with a deadline, to a randomly
 * drawn node. Each call and its outcome go into a history in the format of the simulation, so that the same checks
 * apply.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Rng } from '../../test/simulation/engine/random.ts';
import type { AnyOperation, CallKind, Calls, History, Operation, Outcome } from '../../test/simulation/history.ts';
import type { Caller } from '../../test/simulation/workload/client.ts';
import { GrpcFailure } from '../../test/support/grpc-client.ts';
import { isLostFetch } from '../support/lost-fetch.ts';
import { instanceOf, perform, scopeOf } from './calls.ts';
import { type Address, HttpFailure, Line } from './line.ts';

/** Server that clients send requests to: a node, or a load balancer in front of several. */
export interface Server {
  readonly name: string;
  readonly address: Address;
  /** Changes with every process that serves this address. */
  readonly incarnation: number;
}

export type Servers = readonly [Server, ...Server[]];

export interface ConnectionOptions {
  readonly client: string;
  /** Servers that the client may use now. */
  readonly members: () => Servers;
  readonly history: History;
  readonly random: Rng;
  /** Probability that the client switches to another node before a call. */
  readonly roamShare: number;
  readonly deadlineMs: number;
  /** True when nodes relay requests for databases of which they have no replica. */
  readonly isRelayed: boolean;
}

/** Codes of errors after which a write has certainly no effect, now or later. */
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
/** Reason of the error of a node without a replica of the database. */
const ELSEWHERE = 'NotReplica';

/** Microseconds of the monotonic clock that all times of a history use. */
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

  /** The leader of the database at the last transaction, and when the reply arrived. */
  get leader(): { readonly name: string; readonly atUs: number } | undefined {
    return this.#leader;
  }

  async sleep(delayUs: number): Promise<void> {
    await delay(delayUs / 1000);
  }

  /** Sends the call, waits for its outcome and records both. */
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
    // A session is monotonic with one process; the next process of the same node may lag behind it.
    if (member.incarnation === incarnation) operation.session = `${this.client} to ${member.name} ${incarnation}`;
    return operation;
  }

  /** Switches to a randomly drawn node. */
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

/**
 * Maps a failure to an outcome. A request that may still take effect has the outcome `unknown`, and no time of return.
 */
function outcomeOf(failure: unknown): Outcome<never> {
  if (failure instanceof HttpFailure) {
    const { status, reason, scope } = failure;
    // Only reads use HTTP.
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
  // An internal error is a bug of the server, and the run reports it.
  if (code === 'internal') return { kind: 'error', code, reason, isDefinite: false, scope };
  return { kind: 'unknown' };
}
