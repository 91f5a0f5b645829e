// Requests of a simulated node for databases of which it holds no copy. The real Relay says whom to ask, how often, and
// for how much; how a request and its answer are carried is here, as src/transport/grpc/relay-call.ts does it.
import { DatabaseError } from '#base';
import { type DatabaseDescription, type Holder, isFatal, type Shown } from '#service';
import { type Asking, type Attempt, isUntried, Relay } from '../../../src/transport/relay.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { RelayEnd, RelayLines, RelayStream } from '../peers/relay-lines.ts';
import { quietLogger, quietMetrics } from './quiet.ts';
import type { SimService } from './sim-service.ts';

/** How a holder works on a request. */
export interface Work {
  readonly service: SimService;
  /** Of its process. */
  readonly thread: Isolate;
  /** What ends it. */
  readonly fail: (failure: unknown) => void;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** What is asked for beside the least revision of the client. */
  readonly shown: Shown | undefined;
  /** Passes a piece of the answer on, behind those before it. */
  readonly say: (work: () => void) => void;
}

export interface RelayedRequest<Value> {
  readonly isWrite: boolean;
  /** Of a write: the database. */
  readonly name: string;
  /** Aborts when the client has gone, or its time is over. */
  readonly signal: AbortSignal;
  /** When its time is over; undefined: it has no end. */
  readonly untilUs: number | undefined;
  /** Works on it at the holder; `say` is for what has more than one piece. */
  readonly run: (work: Work) => Promise<Value>;
  /** Exactly one of these is called, unless nobody waits. */
  readonly onValue: (value: Value) => void;
  readonly onFailure: (failure: DatabaseError) => void;
}

/** A request at one holder. */
interface Trial<Value> {
  readonly request: RelayedRequest<Value>;
  readonly shown: Shown | undefined;
  readonly isAfterLost: boolean;
  readonly resolve: (attempt: Attempt) => void;
  readonly ending: AbortController;
  /** Whether the client has a piece of the answer. */
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

  /** Has another node answer; undefined: the failure is the answer. Rejects as the real one does. */
  elsewhere<Value>(failure: unknown, request: RelayedRequest<Value>): Promise<void> | undefined {
    const elsewhere = this.#relay.elsewhere(failure, undefined);
    if (elsewhere === undefined) return undefined;
    const { isWrite } = request;
    // Whatever clients here write has an id of its own.
    const asked = { protocol: 'grpc', isWrite, isRepeatable: () => true } as const;
    return this.#relay.relay(elsewhere, asked, (asking) => this.#ask(asking, request));
  }

  /** What the holder says of the databases that it holds; nothing when it does not answer in time. */
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
        (list) => stream.back('listed', () => resolve(structuredClone(list))),
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

/** At the holder. */
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
