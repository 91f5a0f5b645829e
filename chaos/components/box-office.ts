/**
 * A client of one node that sells and shows seats: sends a command or a State View request over gRPC or HTTP and
 * classifies the reply. Replies that faults explain become `unknown`; all other unexpected replies become `strange`.
 */
import { ExecuteStateChangeRequest, FetchStateViewAtRevisionRequest } from '../../proto/gen/cairn/v1/component.ts';
import { GrpcFailure } from '../../test/support/grpc-client.ts';
import { type Address, Line } from '../cluster/line.ts';
import { isLostFetch } from '../support/lost-fetch.ts';
import { CHANGE, commandPath, PARAMETER, VIEW } from './seats.ts';
import type { NoAnswer, SaleOutcome, ShowOutcome } from './seats-history.ts';

export const THEATRE = 'theatre';

export interface Wanted {
  readonly batchId: string;
  readonly house: string;
  readonly seat: string;
}

export type Way = 'grpc' | 'http';

const DEADLINE_MS = 4000;

export class BoxOffice implements Disposable {
  readonly #address: Address;
  readonly #line: Line;

  constructor(address: Address) {
    this.#address = address;
    this.#line = new Line(address);
  }

  async sell(wanted: Wanted, way: Way): Promise<SaleOutcome> {
    try {
      return way === 'grpc' ? await this.#sellByGrpc(wanted) : await this.#sellByHttp(wanted);
    } catch (failure) {
      return saleOutcome(refusalOf(failure));
    }
  }

  async show(house: string, at: number | 'latest', way: Way): Promise<ShowOutcome> {
    try {
      return way === 'grpc' && at !== 'latest' ? await this.#showByGrpc(house, at) : await this.#showByHttp(house, at);
    } catch (failure) {
      return noAnswer(refusalOf(failure));
    }
  }

  [Symbol.dispose](): void {
    this.#line[Symbol.dispose]();
  }

  async #sellByGrpc({ batchId, house, seat }: Wanted): Promise<SaleOutcome> {
    const request = { method: 'POST', path: commandPath(house, seat) };
    const named = { databaseName: THEATRE, stateChangeName: CHANGE, version: 1, request };
    const options = { deadlineMs: DEADLINE_MS, metadata: { 'x-batch-id': batchId } };
    const message = ExecuteStateChangeRequest.fromPartial(named);
    const { transaction } = (await this.#line.grpc.call('executeStateChange', message, options)).message;
    if (transaction === undefined) return { kind: 'strange', text: 'a reply without a transaction' };
    return { kind: 'sold', revision: transaction.revision, isReplayed: transaction.replayed };
  }

  async #sellByHttp({ batchId, house, seat }: Wanted): Promise<SaleOutcome> {
    const reply = await this.#fetch(`/api/v1/db/${THEATRE}/state-changes/${CHANGE}/v1/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-batch-id': batchId },
      body: JSON.stringify({ method: 'POST', path: commandPath(house, seat) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Refused(httpRefusal(reply, text));
    const { revision, transaction } = JSON.parse(text) as Executed;
    if (transaction === undefined) return { kind: 'strange', text };
    return { kind: 'sold', revision, isReplayed: transaction.replayed };
  }

  async #showByGrpc(house: string, revision: number): Promise<ShowOutcome> {
    const parameters = { [`subject.${PARAMETER}`]: house };
    const asked = { databaseName: THEATRE, stateViewName: VIEW, parameters, revision };
    const message = FetchStateViewAtRevisionRequest.fromPartial(asked);
    const state = await this.#line.grpc.send('fetchStateViewAtRevision', message, { deadlineMs: DEADLINE_MS });
    return { kind: 'shown', revision: state.revision, bytes: state.bytes.toString('hex') };
  }

  /** Uses HTTP for the latest revision, because the node redirects to it. */
  async #showByHttp(house: string, at: number | 'latest'): Promise<ShowOutcome> {
    const reply = await this.#fetch(
      `/api/v1/db/${THEATRE}/${at}/state-views/${VIEW}/v1?subject.${PARAMETER}=${house}`,
      {},
    );
    const bytes = Buffer.from(await reply.arrayBuffer());
    if (!reply.ok) throw new Refused(httpRefusal(reply, bytes.toString()));
    return { kind: 'shown', revision: Number(reply.headers.get('x-revision')), bytes: bytes.toString('hex') };
  }

  #fetch(path: string, request: RequestInit): Promise<Response> {
    return fetch(`${this.#address.http}${path}`, { ...request, signal: AbortSignal.timeout(DEADLINE_MS) });
  }
}

interface Executed {
  readonly revision: number;
  readonly transaction?: { readonly replayed: boolean };
}

interface Refusal {
  /** Status name of gRPC, or status code of HTTP. */
  readonly status: string | number;
  readonly reason: string | undefined;
  readonly message: string;
  readonly revision: number;
}

class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

function httpRefusal({ status, headers }: Response, text: string): Refusal {
  const reason = /"reason":\s*"([^"]+)"/.exec(text)?.[1];
  return { status, reason, message: text.slice(0, 300), revision: Number(headers.get('x-revision')) };
}

/** Returns undefined when the connection was lost or the reply timed out. */
function refusalOf(failure: unknown): Refusal | undefined {
  if (failure instanceof Refused) return failure.refusal;
  if (failure instanceof GrpcFailure) {
    const { code, info, message, trailers } = failure;
    if (info === undefined) return undefined;
    return { status: code, reason: info.metadata['reason'], message, revision: Number(trailers['x-revision']) };
  }
  if (isLostFetch(failure)) return undefined;
  throw failure;
}

function saleOutcome(refusal: Refusal | undefined): SaleOutcome {
  if (refusal === undefined) return { kind: 'unknown' };
  const { status, reason, revision } = refusal;
  const isRefused = status === 'INVALID_ARGUMENT' || status === 400;
  if (isRefused && (reason === 'full' || reason === 'taken')) return { kind: 'refused', reason, revision };
  return reason === 'ConcurrencyConflict' ? { kind: 'conflict' } : noAnswer(refusal);
}

/** Statuses of a node that cannot answer now: no leader, no resources, or no time. */
const LATER_STATUSES = ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED', 503, 429, 507];
const LATER: ReadonlySet<string | number> = new Set(LATER_STATUSES);
/** Errors of a component whose node or executor was killed or paused during the call. */
const STOOD_STILL = /\b(?:DeadlineExceeded|ExecutorLost|Cancelled|Busy): /;

function noAnswer(refusal: Refusal | undefined): NoAnswer {
  if (refusal === undefined || LATER.has(refusal.status)) return { kind: 'unknown' };
  if (refusal.reason === 'WasmExecutionError' && STOOD_STILL.test(refusal.message)) return { kind: 'unknown' };
  return { kind: 'strange', text: `${refusal.status} ${refusal.reason}: ${refusal.message}` };
}
