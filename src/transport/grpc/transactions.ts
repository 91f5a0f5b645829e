/** Transact and FetchTransaction, whose messages are read and written by hand. */
import { DatabaseError, giveBack } from '#base';
import { refusalError } from '#service';
import { reading } from '../request-reader.ts';
import { tracedAs } from './call-traces.ts';
import { statusOfError, withLeader } from './error-status.ts';
import { floorOf, floorsOf, type GrpcContext, refuseRelayed, requiresLeader, scopeHeaders } from './metadata.ts';
import { encodeFetched, encodeTransactReply } from './transact-reply.ts';
import { parseTransactRequest } from './transact-request.ts';
import { UNARY, WRITE } from './unary.ts';
import type { Call } from './wire/call.ts';
import { FRAME_HEADER_BYTES } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';

const fetchTransactionRequest = reading('cairn.v1.FetchTransactionRequest');

export function transactionMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    { ...UNARY, ...WRITE, name: 'Transact', handle: (call, bytes) => transact(context, call, bytes) },
    { ...UNARY, name: 'FetchTransaction', handle: (call, bytes) => fetchTransaction(context, call, bytes) },
  ];
}

async function transact({ service, leaderTrailers }: GrpcContext, call: Call, bytes: Uint8Array): Promise<void> {
  const requireLeader = requiresLeader(call);
  const request = parseTransactRequest(bytes, { floor: floorOf(call), requireLeader, ...tracedAs(call) });
  const { databaseName } = request;
  try {
    if (requireLeader) refuseRelayed(call);
    const reply = await service.transact(request);
    if (reply.kind === 'recorded') {
      const trailers = leaderTrailers.of(databaseName);
      call.reply(encodeTransactReply(reply), { headers: scopeHeaders(reply), trailers, isRepeat: reply.replayed });
    } else {
      // Refusals are common under contention: none is thrown.
      call.finish(withLeader(statusOfError(refusalError(reply)), service.leader(databaseName)));
    }
    // The reply is encoded, so the request in its frame, of which events are views, is not used again.
    giveBack(bytes, FRAME_HEADER_BYTES);
  } catch (failure) {
    const leader = service.leader(databaseName);
    throw failure instanceof DatabaseError && leader !== undefined ? failure.with({ leader }) : failure;
  }
}

async function fetchTransaction({ service }: GrpcContext, call: Call, bytes: Uint8Array): Promise<void> {
  const { databaseName, transactionId } = fetchTransactionRequest(bytes);
  const read = { databaseName, transactionId, signal: call.signal, ...floorsOf(call) };
  const reply = await service.fetchTransaction(read);
  call.reply(encodeFetched(reply.transaction), { headers: scopeHeaders(reply) });
}
