/**
 * Client of other nodes: joins a cluster, and queries which cluster a node belongs to. One connection for each
 * question.
 */
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type Address, DatabaseError, type ErrorCode, formatAddress } from '#base';
import type { AdminReply, AdminRequest, Belonging, DialledAddress, JoinReply, JoinRequest, NoAnswer } from '#cluster';
import { ADMIN_METHODS, readAdminReply, writeAdminRequest } from '../admin-messages.ts';
import { replyOf } from './admin-methods.ts';
import { endAfter, JOIN, NOTHING, PING, readPong, targetOf, writeNothing } from './exchange.ts';
import { readJoinReply, writeJoinRequest } from './join-messages.ts';
import { PeerCredentials } from './peer-credentials.ts';
import type { PeerTls } from './peer-tls.ts';
import { refusalAt } from './refusals.ts';

/** The size of a description of many databases. */
const REPLY_BYTES_MAX = 64 * 2 ** 20;
const OPTIONS: ClientOptions = {
  'grpc.max_receive_message_length': REPLY_BYTES_MAX,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
};
/** The library's message when the question was not delivered; the last error in it is useful to an operator. */
const NOT_CONNECTED = /^No connection established/;
const LAST_ERROR = /Last error: (?:Error: )?(.+?)\. Resolution note/;

/** A unary call. */
interface Question<Request, Reply> {
  readonly path: string;
  readonly write: (request: Request) => Buffer;
  readonly read: (bytes: Buffer) => Reply;
  readonly request: Request;
}

interface Answer<Reply> {
  readonly reply: Reply | undefined;
  readonly error: Pick<ServiceError, 'code' | 'details'> | null;
  /** Why this side does not ask the node there. */
  readonly refusal?: string;
}

/** The reply is `later` when the node cannot be reached, or answers too late. */
export async function askToJoin(
  address: DialledAddress,
  request: JoinRequest,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<JoinReply> {
  const question = { path: JOIN, write: writeJoinRequest, read: readJoinReply, request };
  const { reply, error, refusal } = await ask(address, question, { timeoutMs, tls });
  return reply ?? { kind: 'later', reason: refusal ?? error?.details ?? 'it has not answered' };
}

/** Sends an admin request to a node. The reply is `later` when it cannot be reached, or answers too late. */
export async function askAdmin(
  address: DialledAddress,
  request: AdminRequest,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<AdminReply> {
  const method = request.order.kind;
  const read = (bytes: Buffer): AdminReply | undefined => readAdminReply(method, bytes);
  const question = { path: ADMIN_METHODS[method], write: writeAdminRequest, read, request };
  const { reply, error, refusal } = await ask(address, question, { timeoutMs, tls });
  if (refusal === undefined) return replyOf(error, reply);
  return { kind: 'faulty', code: 'refused', reason: `${formatAddress(address)}: ${refusal}` };
}

/** Credentials of a client at the gRPC port of a node. */
export interface ClientAccess {
  /** An API key, or a token of a provider; undefined: a certificate is used, or authentication is off. */
  readonly key: string | undefined;
  /** Undefined: there is no TLS. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer } | undefined;
}

/** Permanent refusals, which a retry does not change. */
const DENIED: Readonly<Partial<Record<status, ErrorCode>>> = {
  [status.UNAUTHENTICATED]: 'unauthenticated',
  [status.PERMISSION_DENIED]: 'permission_denied',
  [status.INVALID_ARGUMENT]: 'invalid_argument',
  [status.UNIMPLEMENTED]: 'invalid_argument',
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
  const method = request.order.kind;
  const read = (bytes: Buffer): AdminReply | undefined => readAdminReply(method, bytes);
  const question = { path: ADMIN_METHODS[method], write: writeAdminRequest, read, request };
  const client = open(address, tls === undefined ? undefined : securedBy(tls));
  if (client === undefined) return replyOf(NOWHERE, undefined);
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  const { error, reply } = await put(client, question, { timeoutMs, metadata });
  const code = error === null ? undefined : DENIED[error.code];
  if (error !== null && code !== undefined) throw new DatabaseError(code, error.details);
  return replyOf(error, reply);
}

function securedBy({ ca, key, cert }: NonNullable<ClientAccess['tls']>): ChannelCredentials {
  try {
    return credentials.createSsl(ca ?? null, key ?? null, cert ?? null);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError('invalid_argument', `The files of TLS are of no use: ${why}`, { cause });
  }
}

/** The cluster of the node at an address; without an answer, the reason. */
export async function askBelonging(
  address: DialledAddress,
  timeoutMs: number,
  tls?: PeerTls,
): Promise<Belonging | NoAnswer> {
  const question = { path: PING, write: writeNothing, read: readPong, request: NOTHING };
  const { reply, error, refusal } = await ask(address, question, { timeoutMs, tls });
  return reply ?? { kind: 'no-answer', reason: refusal ?? error?.details ?? 'it has not answered' };
}

interface Asking {
  readonly timeoutMs: number;
  readonly tls: PeerTls | undefined;
}

/** Where TLS is preferred but the node has none, asks again without it. */
async function ask<Request, Reply>(
  address: DialledAddress,
  question: Question<Request, Reply>,
  { timeoutMs, tls }: Asking,
): Promise<Answer<Reply>> {
  if (tls === undefined || tls.isPlain(address)) return askOnce(address, question, { timeoutMs, tls: undefined });
  const answer = await askOnce(address, question, { timeoutMs, tls });
  const isPlain = answer.error !== null && answer.refusal === undefined && tls.isPlain(address);
  return isPlain ? askOnce(address, question, { timeoutMs, tls: undefined }) : answer;
}

async function askOnce<Request, Reply>(
  address: DialledAddress,
  question: Question<Request, Reply>,
  { timeoutMs, tls }: Asking,
): Promise<Answer<Reply>> {
  const secured = tls && new PeerCredentials(tls, address);
  const client = open(address, secured);
  if (client === undefined) return { reply: undefined, error: NOWHERE };
  const answer = await put(client, question, { timeoutMs, metadata: new Metadata() });
  if (answer.error === null || !NOT_CONNECTED.test(answer.error.details)) return answer;
  const failure = secured?.failure;
  const refusal = failure === undefined ? await refusalAt(address, tls) : tls?.refusalIn(failure, address);
  if (refusal !== undefined) return { ...answer, refusal };
  const { code, details } = answer.error;
  return { ...answer, error: { code, details: LAST_ERROR.exec(details)?.[1] ?? details } };
}

/** One call, after which the client is closed. */
async function put<Request, Reply>(
  client: Client,
  { path, write, read, request }: Question<Request, Reply>,
  { timeoutMs, metadata }: { readonly timeoutMs: number; readonly metadata: Metadata },
): Promise<Answer<Reply>> {
  const { promise, resolve } = Promise.withResolvers<Answer<Reply>>();
  const call = client.makeUnaryRequest(path, write, read, request, metadata, (error, reply) => {
    resolve({ reply, error: error && { code: error.code, details: reasonOf(error, timeoutMs) } });
  });
  endAfter(call, timeoutMs, promise);
  const answer = await promise;
  client.close();
  return answer;
}

const NOWHERE = { code: status.UNAVAILABLE, details: 'no node can be dialled there' };

function reasonOf(error: ServiceError, timeoutMs: number): string {
  return error.code === status.CANCELLED ? `there was no answer within ${timeoutMs} ms` : error.details;
}

/** Undefined for an invalid address. */
function open({ host, port, ip = host }: DialledAddress, secured: ChannelCredentials | undefined): Client | undefined {
  try {
    return new Client(targetOf({ host: ip, port }), secured ?? credentials.createInsecure(), OPTIONS);
  } catch {
    return undefined;
  }
}
