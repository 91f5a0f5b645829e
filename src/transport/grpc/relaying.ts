/**
 * Relays calls for a database without a replica on this node: the request as it came, and the reply as it comes, frame
 * for frame.
 *
 * The stream to the other node is read no faster than the client reads (T4): one piece of it leaves while the next one
 * waits, and the other node keeps what it would send beyond that. When the call ends, the stream is cancelled.
 */
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { CLIENT_CERT, clientCertOf } from '#auth';
import { DatabaseError } from '#base';
import { COUNTED } from '../rate-limits.ts';
import { type Asked, type Asking, type Attempt, isUntried, RELAYED, type Relay } from '../relay.ts';
import { reasonOf, statusOfError } from './error-status.ts';
import type { RelayConnections } from './relay-connections.ts';
import { SliceWriter } from './slice-writer.ts';
import { parseTransactRequest } from './transact-request.ts';
import type { Call } from './wire/call.ts';
import { FrameCutter } from './wire/framing.ts';
import { OutgoingCall, OWN_HEADERS, textOf } from './wire/outgoing-call.ts';
import type { CallStatus, Fields } from './wire/status.ts';

interface RelayedCall extends Pick<Asked, 'isWrite'> {
  readonly call: Call;
  readonly message: Uint8Array;
  readonly connections: RelayConnections;
  readonly relay: Relay;
}

/** Headers that gRPC sets itself, and those that this node sends only to the next one. */
const NOT_PASSED: ReadonlySet<string> = new Set([...OWN_HEADERS, CLIENT_CERT, COUNTED]);
const UNANSWERED: Attempt = { kind: 'lost' };

/** Relays the call, if another node can answer it; undefined: the failure is the answer. */
export function relayed(
  connections: RelayConnections,
  relay: Relay,
  call: Call,
  failure: unknown,
): Promise<void> | undefined {
  const elsewhere = relay.elsewhere(failure, call.header(RELAYED));
  if (elsewhere === undefined) return undefined;
  const { message, method, trace } = call;
  const isWrite = method.namesLeader === true;
  const isRepeatable = (): boolean =>
    method.name === 'Transact' && parseTransactRequest(message).transactionId !== undefined;
  const asked = { protocol: 'grpc', isWrite, isRepeatable, span: trace?.span } as const;
  return relay.relay(elsewhere, asked, (asking) => relayCall({ call, message, connections, relay, isWrite }, asking));
}

async function relayCall(asked: RelayedCall, asking: Asking): Promise<Attempt> {
  const { call, connections, message } = asked;
  const stream = await connections.open(asking.holder, headersFor(asked, asking), call.signal);
  using reply = stream && new OutgoingCall(stream, message, call.signal);
  if (call.ended) return { kind: 'abandoned' };
  if (reply === undefined) return { kind: 'unreached' };
  const attempt = await (call.method.kind === 'unary' ? unary(asked, reply, asking) : streamed(call, reply));
  return call.ended && attempt.kind === 'lost' ? { kind: 'abandoned' } : attempt;
}

async function unary({ call, isWrite }: RelayedCall, reply: OutgoingCall, { isAfterLost }: Asking): Promise<Attempt> {
  const cutter = new FrameCutter();
  let framed: Buffer | undefined;
  for await (const piece of reply.pieces()) {
    framed = cutter.add(piece)?.frames ?? framed;
    call.reserve(cutter.neededBytes);
  }
  if (isRefused(reply)) return { kind: 'untried' };
  // A connection is also cut off for what others did over it, while this was committed (TM8).
  const status = isWrite ? reply.status : readStatus(reply);
  if (status === undefined || (status.code === 'OK' && framed === undefined)) return UNANSWERED;
  if (isAfterLost && status.code !== 'OK') return { kind: 'untried' };
  const { headers = {}, trailers = {} } = reply;
  if (status.code !== 'OK' || framed === undefined) call.finish(status);
  else call.reply(framed, { headers: passedOn(headers), trailers: passedOn(trailers) });
  return answered(reply);
}

async function streamed(call: Call, reply: OutgoingCall): Promise<Attempt> {
  await reply.begun();
  if (isRefused(reply)) return { kind: 'untried' };
  if (reply.headers === undefined) return UNANSWERED;
  if (reply.trailers === undefined) call.begin(passedOn(reply.headers));
  await passOn(call, reply);
  if (call.ended) return { kind: 'abandoned' };
  const status = readStatus(reply);
  call.finish(status ?? BROKEN);
  return status === undefined ? { kind: 'broken' } : answered(reply);
}

async function passOn(call: Call, reply: OutgoingCall): Promise<void> {
  using writer = new SliceWriter(call);
  const cutter = new FrameCutter();
  for await (const piece of reply.pieces()) {
    const cut = cutter.add(piece);
    // The rest of a long message is read when there is room for it (TM1).
    if (cut === undefined) {
      if (!writer.admits(cutter.neededBytes)) await writer.ready();
    } else await writer.write(cut.frames, cut.count);
  }
  await writer.flushed();
}

/** Returns whether the other node has refused the request without trying it. */
function isRefused({ rstCode, status }: OutgoingCall): boolean {
  if (rstCode === constants.NGHTTP2_REFUSED_STREAM) return true;
  return status?.code === 'UNAVAILABLE' && isUntried(reasonOf(status.details));
}

/** The status of a read, which may also be cut off: a node does that with a client that holds too much. */
function readStatus({ rstCode, status }: OutgoingCall): CallStatus | undefined {
  if (status !== undefined || rstCode !== constants.NGHTTP2_ENHANCE_YOUR_CALM) return status;
  return { code: 'RESOURCE_EXHAUSTED', message: 'The node that holds the database has cut the call off' };
}

function answered({ headers = {}, trailers = {} }: OutgoingCall): Attempt {
  return { kind: 'answered', header: (name) => textOf(trailers[name] ?? headers[name]) };
}

const BROKEN: CallStatus = statusOfError(
  new DatabaseError(
    'unavailable',
    'The node to which this call was relayed cannot be reached any more; continue after the last message',
    { details: { reason: 'RelayBroken' } },
  ),
);

function headersFor({ call, relay }: RelayedCall, asking: Asking): OutgoingHttpHeaders {
  const { leftMs, method } = call;
  const { certificate, headers } = call.peer;
  return {
    ...passedOn(headers.metadata),
    ...relay.headersFor(asking),
    ...(leftMs !== undefined && { 'grpc-timeout': timeoutOf(leftMs) }),
    ...(certificate !== undefined && { [CLIENT_CERT]: clientCertOf(certificate) }),
    ':path': `/${method.service}/${method.name}`,
  };
}

/** Eight digits at most, as gRPC writes it. */
function timeoutOf(leftMs: number): string {
  return leftMs < 1e8 - 1 ? `${Math.max(1, Math.ceil(leftMs))}m` : `${Math.min(1e8 - 1, Math.ceil(leftMs / 1000))}S`;
}

function passedOn(headers: Fields): Fields {
  const passed = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !NOT_PASSED.has(name));
  return Object.fromEntries(passed);
}
