/**
 * Client of other nodes: joins a cluster, and queries which cluster a node belongs to. One connection for each
 * question.
 */
import { connect, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { type Address, concatBytes, DatabaseError, type ErrorCode, formatAddress, messageOf, NO_BYTES } from '#base';
import type { AdminReply, AdminRequest, Belonging, DialledAddress, JoinReply, JoinRequest, NoAnswer } from '#cluster';
import { ADMIN_METHODS, readAdminReply, writeAdminRequest } from '../admin-messages.ts';
import { CALL_HEADERS, OutgoingCall } from '../grpc/wire/outgoing-call.ts';
import type { GrpcStatusName } from '../grpc/wire/status.ts';
import { dialWith } from '../secure.ts';
import { answerLength, HELLO_BEGINS, readAnswer } from './lane-words.ts';
import { JOIN, PING, readJoinReply, readPong, writeJoinRequest } from './peer-messages.ts';
import { dialled, type PeerTls } from './peer-tls.ts';

/** The size of a description of many databases. */
const REPLY_BYTES_MAX = 64 * 2 ** 20;
const MALFORMED: AdminReply = { kind: 'later', reason: 'the answer is malformed' };

interface Question {
  readonly path: string;
  readonly message: Uint8Array;
  readonly metadata?: OutgoingHttpHeaders;
}

type Answer =
  | { readonly kind: 'message'; readonly message: Buffer }
  /** `UNAVAILABLE` also when there was no answer in time. */
  | { readonly kind: 'status'; readonly code: GrpcStatusName; readonly reason: string }
  /** The connection ended before the other side spoke HTTP/2. */
  | { readonly kind: 'unreached'; readonly reason: string; readonly failure: Error | undefined }
  /** This side and the node there do not talk to each other, for a permanent reason. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The reply is `later` when the node cannot be reached, or answers too late. */
export async function askToJoin(
  address: DialledAddress,
  request: JoinRequest,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<JoinReply> {
  const answer = await ask(address, { path: JOIN, message: writeJoinRequest(request) }, timeoutMs, tls);
  return answer.kind === 'message' ? readJoinReply(answer.message) : { kind: 'later', reason: answer.reason };
}

/** Sends an admin request to a node. The reply is `later` when it cannot be reached, or answers too late. */
export async function askAdmin(
  address: DialledAddress,
  request: AdminRequest,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<AdminReply> {
  const answer = await ask(address, adminQuestion(request), timeoutMs, tls);
  if (answer.kind !== 'refused') return replyIn(request, answer);
  return { kind: 'faulty', code: 'refused', reason: `${formatAddress(address)}: ${answer.reason}` };
}

/** Credentials of a client at the gRPC port of a node. */
export interface ClientAccess {
  /** An API key, or a token of a provider; undefined: a certificate is used, or authentication is off. */
  readonly key: string | undefined;
  /** Undefined: there is no TLS. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer } | undefined;
}

/** Permanent refusals, which a retry does not change. */
const DENIED: Readonly<Partial<Record<GrpcStatusName, ErrorCode>>> = {
  UNAUTHENTICATED: 'unauthenticated',
  PERMISSION_DENIED: 'permission_denied',
  INVALID_ARGUMENT: 'invalid_argument',
  UNIMPLEMENTED: 'invalid_argument',
};

/**
 * Asks as a client, at the gRPC port of a node. The reply is `later` when the node cannot be reached or answers too
 * late.
 * @throws DatabaseError when the client is refused, or its TLS files are invalid
 */
export async function askAdminAsClient(
  address: Address,
  request: AdminRequest,
  { timeoutMs, key, tls }: ClientAccess & { readonly timeoutMs: number },
): Promise<AdminReply> {
  const context = tls && contextOf(tls);
  const dial = (): Socket => (context === undefined ? dialled(address) : dialWith(() => context)(address, 'h2'));
  const metadata = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await put(address, dial, { ...adminQuestion(request), metadata }, timeoutMs);
  const code = answer.kind === 'status' ? DENIED[answer.code] : undefined;
  if (answer.kind === 'status' && code !== undefined) throw new DatabaseError(code, answer.reason);
  return replyIn(request, answer);
}

function contextOf(files: NonNullable<ClientAccess['tls']>): SecureContext {
  try {
    return process.getBuiltinModule('node:tls').createSecureContext(files);
  } catch (cause) {
    const why = messageOf(cause);
    throw new DatabaseError('invalid_argument', `The files of TLS are of no use: ${why}`, { cause });
  }
}

/** The cluster of the node at an address; without an answer, the reason. */
export async function askBelonging(
  address: DialledAddress,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<Belonging | NoAnswer> {
  const answer = await ask(address, { path: PING, message: NO_BYTES }, timeoutMs, tls);
  return answer.kind === 'message' ? readPong(answer.message) : { kind: 'no-answer', reason: answer.reason };
}

/** The cluster of the node at an address; undefined when it belongs to none, or there is no answer in time. */
export async function askForCluster(...question: Parameters<typeof askBelonging>): Promise<string | undefined> {
  const answer = await askBelonging(...question);
  return answer.kind === 'member' ? answer.clusterId : undefined;
}

function adminQuestion(request: AdminRequest): Question {
  return { path: ADMIN_METHODS[request.order.kind], message: writeAdminRequest(request) };
}

/** The reply of a node, or the reason for its absence. */
function replyIn({ order }: AdminRequest, answer: Answer): AdminReply {
  if (answer.kind === 'message') return readAdminReply(order.kind, answer.message) ?? MALFORMED;
  const { reason } = answer;
  const code = answer.kind === 'status' ? answer.code : undefined;
  if (code === 'NOT_FOUND') return { kind: 'faulty', code: 'not_found', reason };
  if (code === 'FAILED_PRECONDITION') return { kind: 'faulty', code: 'failed_precondition', reason };
  return { kind: 'later', reason };
}

/** Where TLS is preferred but the node has none, asks again without it. */
async function ask(
  address: DialledAddress,
  question: Question,
  timeoutMs: number,
  tls: PeerTls | undefined,
): Promise<Answer> {
  const isSecured = tls?.isPlain(address) === false;
  const answer = await put(address, () => dialled(address, tls), question, timeoutMs);
  if (answer.kind !== 'unreached') return answer;
  const fault = answer.failure && tls?.refusalIn(answer.failure, address);
  if (isSecured && tls.isPlain(address)) return ask(address, question, timeoutMs, tls);
  const refusal = fault ?? (await refusalAt(address, tls));
  return refusal === undefined ? answer : { kind: 'refused', reason: refusal };
}

/** One call, on a connection of its own. */
async function put(
  address: Address,
  dial: () => Socket,
  { path, message, metadata }: Question,
  timeoutMs: number,
): Promise<Answer> {
  let socket: Socket;
  try {
    socket = dial();
  } catch {
    return unanswered('no node can be dialled there');
  }
  let [isReached, failure]: [boolean, Error | undefined] = [false, undefined];
  const origin = `${'encrypted' in socket ? 'https' : 'http'}://node`;
  const session = connect(origin, { createConnection: () => socket, settings: { enablePush: false } });
  session.once('remoteSettings', () => (isReached = true)).on('error', (error: Error) => (failure = error));
  // A deadline of gRPC depends on the wall clock, which may be set during the call; a timer uses the monotonic clock.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const headers = { ...CALL_HEADERS, ...metadata, ':path': path, ':authority': formatAddress(address) };
  using reply = new OutgoingCall(session.request(headers), message, late.signal);
  const answer = await reply.message(REPLY_BYTES_MAX);
  clearTimeout(timer);
  session.destroy();
  if (answer !== undefined) return { kind: 'message', message: answer };
  const { status } = reply;
  if (status !== undefined && status.code !== 'OK')
    return { kind: 'status', code: status.code, reason: status.message };
  if (late.signal.aborted) return unanswered(`there was no answer within ${timeoutMs} ms`);
  if (isReached) return unanswered(status === undefined ? 'the connection has ended' : 'the answer is too long');
  return { kind: 'unreached', reason: failure === undefined ? 'it closed the connection' : reasonOf(failure), failure };
}

function unanswered(reason: string): Answer {
  return { kind: 'status', code: 'UNAVAILABLE', reason };
}

/** A name with several addresses has an error for each. */
function reasonOf(failure: Error): string {
  const last: unknown = failure instanceof AggregateError ? failure.errors.at(-1) : failure;
  return last instanceof Error ? last.message : failure.message;
}

/** Short, because a node refuses as soon as a connection has begun. */
const REFUSAL_MS = 1_000;

/**
 * Asks the node at an address why it refuses connections; undefined when no node answers or it refuses none. gRPC
 * cannot transport the reason, but the port sends it to a lane. So the node is dialled once more as a lane, only after
 * a question that did not reach it.
 */
export function refusalAt(address: DialledAddress, tls?: PeerTls): Promise<string | undefined> {
  const socket = dialled(address, tls);
  return new Promise((resolve) => {
    let said: Uint8Array = NO_BYTES;
    const end = (refusal?: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(refusal);
    };
    const timer = setTimeout(end, REFUSAL_MS);
    socket.on('error', (failure) => end(tls?.refusalIn(failure, address)));
    socket.on('close', () => end());
    socket.on('data', (bytes) => {
      said = concatBytes([said, bytes]);
      const length = answerLength(said);
      if (length === undefined || said.length < length) return;
      const answer = readAnswer(said.subarray(0, length));
      end(answer.kind === 'refused' ? answer.reason : undefined);
    });
    socket.write(Uint8Array.of(HELLO_BEGINS));
  });
}
