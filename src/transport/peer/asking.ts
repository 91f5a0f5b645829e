/**
 * The side that asks: to be let into a cluster, and which cluster a node belongs to. One connection for each question.
 */
import { Client, type ClientOptions, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Address } from '#base';
import type { AdminReply, AdminRequest, JoinReply, JoinRequest } from '#cluster';
import { ADMIN_METHODS, writeAdminRequest } from './admin-messages.ts';
import { readReply, replyOf } from './admin-methods.ts';
import { endAfter, JOIN, NOTHING, PING, readPong, targetOf, writeNothing } from './exchange.ts';
import { readJoinReply, writeJoinRequest } from './join-messages.ts';

/** A description of many databases. */
const REPLY_BYTES_MAX = 64 * 2 ** 20;
const OPTIONS: ClientOptions = {
  'grpc.max_receive_message_length': REPLY_BYTES_MAX,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
};

/** Whoever cannot be reached, or answers too late, is `later`. */
export async function askToJoin(address: Address, request: JoinRequest, timeoutMs: number): Promise<JoinReply> {
  const client = open(address);
  if (client === undefined) return { kind: 'later', reason: 'no node can be dialled there' };
  const { promise, resolve } = Promise.withResolvers<JoinReply>();
  const call = client.makeUnaryRequest(JOIN, writeJoinRequest, readJoinReply, request, (error, value) => {
    resolve(value ?? { kind: 'later', reason: reasonOf(error, timeoutMs) });
  });
  endAfter(call, timeoutMs, promise);
  const reply = await promise;
  client.close();
  return reply;
}

/** Asks a node what operators ask. Whoever cannot be reached, or answers too late, is `later`. */
export async function askAdmin(address: Address, request: AdminRequest, timeoutMs: number): Promise<AdminReply> {
  const client = open(address);
  if (client === undefined) return { kind: 'later', reason: 'no node can be dialled there' };
  const method = request.order.kind;
  const read = (bytes: Buffer): AdminReply | undefined => readReply(method, bytes);
  const { promise, resolve } = Promise.withResolvers<AdminReply>();
  const call = client.makeUnaryRequest(ADMIN_METHODS[method], writeAdminRequest, read, request, (error, value) => {
    resolve(replyOf(error && { code: error.code, details: reasonOf(error, timeoutMs) }, value));
  });
  endAfter(call, timeoutMs, promise);
  const reply = await promise;
  client.close();
  return reply;
}

/** The cluster of the node at an address; undefined when there is no answer. */
export async function askForCluster(address: Address, timeoutMs: number): Promise<string | undefined> {
  const client = open(address);
  if (client === undefined) return undefined;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const call = client.makeUnaryRequest(PING, writeNothing, readPong, NOTHING, (_error, value) => resolve(value));
  endAfter(call, timeoutMs, promise);
  const clusterId = await promise;
  client.close();
  return clusterId;
}

function reasonOf(error: ServiceError | null, timeoutMs: number): string {
  const isLate = error === null || error.code === status.CANCELLED;
  return isLate ? `there was no answer within ${timeoutMs} ms` : error.details;
}

/** Undefined for a place that cannot even be tried. */
function open(address: Address): Client | undefined {
  try {
    return new Client(targetOf(address), credentials.createInsecure(), OPTIONS);
  } catch {
    return undefined;
  }
}
