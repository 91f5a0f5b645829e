// Relays requests of a simulated node to nodes with a replica. The real Relay decides about the target, the retries and
// the budget; this file transports requests and replies, like src/transport/grpc/relaying.ts.
import { DatabaseError } from '#base';
import { type DatabaseDescription, type Holder, isFatal, type ListedDatabase, type Shown } from '#service';
import { type Asking, type Attempt, isUntried, Relay } from '../../../src/transport/relay.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { RelayEnd, RelayLines, RelayStream } from '../peers/relay-lines.ts';
import { quietLogger, quietMetrics } from './quiet.ts';
import type { SimService } from './sim-service.ts';

/** Environment in which the target executes a request. */
export interface Work {
  readonly service: SimService;
  /** Thread of its process. */
  readonly thread: Isolate;
  /** Ends the process with a failure. */
  readonly fail: (failure: unknown) => void;
  /** Aborts when no caller waits any more. */
  readonly signal: AbortSignal;
  /** Minimum revision in addition to that of the client. */
  readonly shown: Shown | undefined;
  /** Sends a part of the answer, after the earlier parts. */
  readonly say: (work: () => void) => void;
}

export interface RelayedRequest<Value> {
  readonly isWrite: boolean;
  /** Name of the database, for writes. */
  readonly name: string;
  /** Aborts when the client is gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /** Deadline of the request; undefined without one. */
  readonly untilUs: number | undefined;
  /** Executes the request at the target; `say` sends answers with several parts. */
  readonly run: (work: Work) => Promise<Value>;
  /** Exactly one of these is called, unless the client is gone. */
  readonly onValue: (value: Value) => void;
  readonly onFailure: (failure: DatabaseError) => void;
}

/** One attempt of a request at one target. */
interface Trial<Value> {
  readonly request: RelayedRequest<Value>;
  readonly shown: Shown | undefined;
  readonly isAfterLost: boolean;
  readonly resolve: (attempt: Attempt) => void;
  readonly ending: AbortController;
  /** True when the client has received a part of the answer. */
  hasBegun: boolean;
}

const LIST_US = 5_000_000;

export class SimRelay {
  readonly #end: RelayEnd;
  readonly #lines: RelayLines;
  readonly #relay: Relay;

  constructor({ end, lines, nowMs }: Readonly<{ end: RelayEnd; lines: RelayLines; nowMs: () => number }>) {
    this.#end = end;
    this.#lines = lines;
    const { service, host: name } = end;
    this.#relay = new Relay({ service, name, metrics: quietMetrics, logger: quietLogger, nowMs });
    lines.enter(end);
  }

  leave(isSilent: boolean): void {
    this.#lines.leave(this.#end, isSilent);
  }

  /** Relays a request after a failure. Undefined when the failure is the final answer. Rejects like the real relay. */
  elsewhere<Value>(failure: unknown, request: RelayedRequest<Value>): Promise<void> | undefined {
    const elsewhere = this.#relay.elsewhere(failure, undefined);
    if (elsewhere === undefined) return undefined;
    const { isWrite } = request;
    // All writes of simulated clients have transaction ids.
    const asked = { protocol: 'grpc', isWrite, isRepeatable: () => true } as const;
    return this.#relay.relay(elsewhere, asked, (asking) => this.#ask(asking, request));
  }

  /** Descriptions of the databases on the target; empty when it does not answer in time. */
  async list({ grpc }: Holder, signal: AbortSignal): Promise<readonly DatabaseDescription[]> {
    const line = grpc === '' ? undefined : await this.#lines.open(this.#end, hostOf(grpc));
    if (line === undefined || signal.aborted) return [];
    const { promise, resolve } = Promise.withResolvers<readonly DatabaseDescription[]>();
    const nothing = (): void => resolve([]);
    const ending = new AbortController();
    const stream = line.begin({ onLost: nothing, onLeft: () => ending.abort(gone()) });
    this.#end.thread.after(LIST_US, 'list deadline', nothing);
    stream.there('relayed list', () => {
      stream.end.service.listDatabases({ signal: ending.signal, heldOnly: true }).then(
        (list) => stream.back('listed', () => resolve(structuredClone(list.filter(isDescribed)))),
        (failure: unknown) => {
          if (!(failure instanceof DatabaseError) || isFatal(failure)) return stream.end.fail(failure);
          stream.back('not listed', nothing);
        },
      );
    });
    const list = await promise;
    stream.close();
    return list;
  }

  async #ask<Value>({ holder, shown, isAfterLost }: Asking, request: RelayedRequest<Value>): Promise<Attempt> {
    const { signal } = request;
    if (holder.grpc === '') return { kind: 'unreached' };
    const line = await this.#lines.open(this.#end, hostOf(holder.grpc));
    if (signal.aborted) return { kind: 'abandoned' };
    if (line === undefined) return { kind: 'unreached' };
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    const ending = new AbortController();
    const trial: Trial<Value> = { request, shown, isAfterLost, resolve, ending, hasBegun: false };
    const leave = (): void => ending.abort(gone());
    const stream = line.begin({ onLost: () => lose(trial), onLeft: leave });
    const abandon = (): void => {
      stream.there('relayed call is cancelled', leave);
      resolve({ kind: 'abandoned' });
    };
    signal.addEventListener('abort', abandon);
    stream.there('relayed', () => serve(stream, trial));
    const attempt = await promise;
    signal.removeEventListener('abort', abandon);
    stream.close();
    return attempt;
  }
}

/** Executes an attempt at the target. */
function serve<Value>(stream: RelayStream, trial: Trial<Value>): void {
  const { service, fail, thread } = stream.end;
  const { request, shown, ending } = trial;
  const { untilUs } = request;
  if (untilUs !== undefined) thread.after(Math.max(0, untilUs - thread.nowUs), 'deadline', () => ending.abort(gone()));
  const say = (piece: () => void): void =>
    stream.back('piece', () => {
      trial.hasBegun = true;
      piece();
    });
  const hear: RelayStream['heard'] = (word) => {
    if (request.isWrite) stream.heard(word);
  };
  const succeed = (value: Value): void => {
    hear('answered');
    const leader = request.isWrite ? service.leader(request.name)?.node : undefined;
    stream.back('relayed answer', () => {
      request.onValue(value);
      trial.resolve(answered(scopeIn(value), leader));
    });
  };
  const refused = (failure: unknown): void => {
    if (!(failure instanceof DatabaseError) || isFatal(failure)) return fail(failure);
    stream.back('relayed failure', () => refuse(trial, failure));
  };
  const worked = request.run({ service, thread, fail, signal: ending.signal, shown, say });
  worked.then(succeed, refused);
  hear('taken');
}

function refuse<Value>({ request, isAfterLost, resolve, hasBegun }: Trial<Value>, failure: DatabaseError): void {
  const { details } = failure;
  if (isAfterLost || (!hasBegun && isUntried(details.reason))) return resolve({ kind: 'untried' });
  request.onFailure(failure);
  resolve(answered(details.scope ?? {}, details.leader?.node));
}

function lose<Value>({ request, resolve, hasBegun }: Trial<Value>): void {
  if (!hasBegun) return resolve({ kind: 'lost' });
  request.onFailure(new DatabaseError('unavailable', 'The answer broke off', { details: { reason: 'RelayBroken' } }));
  resolve({ kind: 'broken' });
}

interface ToldScope {
  readonly databaseId?: unknown;
  readonly revision?: unknown;
}

function answered({ databaseId, revision }: ToldScope, leader: string | undefined): Attempt {
  const headers = new Map([
    ['x-database-id', typeof databaseId === 'string' ? databaseId : undefined],
    ['x-revision', typeof revision === 'number' ? revision.toString() : undefined],
    ['x-leader-node', leader],
  ]);
  return { kind: 'answered', header: (name) => headers.get(name) };
}

function scopeIn(value: unknown): ToldScope {
  return typeof value === 'object' && value !== null ? value : {};
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

function gone(): DatabaseError {
  return new DatabaseError('unavailable', 'Nobody waits for the answer any more');
}

/** False for a database that no node serves at the moment. */
function isDescribed(database: ListedDatabase): database is DatabaseDescription {
  return database.revision !== undefined;
}
