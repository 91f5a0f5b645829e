/** The methods that run State Changes. Their replies are written by hand, and copy the stored bytes of events. */
import { ByteWriter, beginMessage, NO_BYTES, writeBytesField, writeTextField, writeVarintField } from '#base';
import { encodeConstraint, NO_OPTIONS, ORIGIN } from '#model';
import {
  commandCode,
  commandError,
  type DecideCommandReply,
  EventFrames,
  type ExecuteCommandReply,
  type RecordedTransaction,
  type StoredEvent,
  storedEvents,
  undecidedError,
} from '#service';
import { type CommandCall, parseDecide, parseExecute, parseProcess } from './command-requests.ts';
import { floorsOf, type GrpcContext, ledWrite, scopeHeaders, writeOf } from './metadata.ts';
import { encodeTransactReply } from './transact-reply.ts';
import { UNARY, WRITE } from './unary.ts';
import type { Call } from './wire/call.ts';
import { FRAME_HEADER_BYTES, frame } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';

const BATCH_ID = 'x-batch-id';

export function stateChangeMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    { ...RUN, name: 'ProcessStateChange', handle: (call, bytes) => processCommand(context, call, bytes) },
    { ...RUN, name: 'ExecuteStateChange', handle: (call, bytes) => execute(context, call, bytes) },
    { ...UNARY, name: 'DecideStateChange', handle: (call, bytes) => decide(context, call, bytes) },
  ];
}

const RUN = { ...UNARY, ...WRITE, headers: [BATCH_ID] };

/** A business failure is a reply; a failure before the decision is an error. */
async function processCommand(context: GrpcContext, call: Call, bytes: Uint8Array): Promise<void> {
  const request = parseProcess(bytes);
  const reply = await run(context, call, request);
  const undecided = undecidedError(reply);
  if (undecided !== undefined) throw undecided;
  const headers = scopeHeaders(reply);
  const trailers = context.leaderTrailers.of(request.databaseName);
  call.reply(frame(encodeProcessed(reply)), { headers, trailers });
}

async function execute(context: GrpcContext, call: Call, bytes: Uint8Array): Promise<void> {
  const request = parseExecute(bytes);
  const reply = await run(context, call, request);
  const headers = scopeHeaders(reply);
  const trailers = context.leaderTrailers.of(request.databaseName);
  if (reply.kind !== 'committed' && reply.kind !== 'nothing') {
    const leader = context.service.leader(request.databaseName);
    throw leader === undefined ? commandError(reply) : commandError(reply).with({ leader });
  }
  const message = reply.kind === 'committed' ? encodeExecuted(reply.transaction) : NO_BYTES;
  call.reply(frame(message), { headers, trailers });
}

function run({ service }: GrpcContext, call: Call, request: CommandCall): Promise<ExecuteCommandReply> {
  return ledWrite(service, request.databaseName, async () =>
    service.executeCommand({
      ...request,
      batchId: call.header(BATCH_ID),
      batchIdField: BATCH_ID,
      origin: ORIGIN.GRPC_STATE_CHANGE,
      options: NO_OPTIONS,
      signal: call.signal,
      ...writeOf(call),
    }),
  );
}

async function decide({ service }: GrpcContext, call: Call, bytes: Uint8Array): Promise<void> {
  const request = parseDecide(bytes);
  const reply = await service.decideCommand({ ...request, signal: call.signal, ...floorsOf(call) });
  const undecided = undecidedError(reply);
  if (undecided !== undefined) throw undecided;
  call.reply(frame(encodeDecided(reply)), { headers: scopeHeaders(reply) });
}

/** `ProcessStateChangeReply`: 0A success (0A event*, 10 revision) | 12 error (0A code, 12 message, 1A details). */
function encodeProcessed(reply: ExecuteCommandReply): Uint8Array {
  const writer = new ByteWriter();
  if (reply.kind === 'committed' || reply.kind === 'nothing') {
    const success = beginMessage(writer, 1);
    if (reply.kind === 'committed') writer.bytes(encodeEvents(storedEvents(reply.transaction)));
    if (reply.revision > 0) writeVarintField(writer, 2, reply.revision);
    writer.endLength(success);
  } else {
    writeError(writer, reply);
  }
  return writer.take();
}

function writeError(
  writer: ByteWriter,
  reply: Extract<ExecuteCommandReply, { readonly kind: 'refused' | 'failed' | 'conflict' }>,
): void {
  const error = beginMessage(writer, 2);
  writeTextField(writer, 1, commandCode(reply));
  writeTextField(writer, 2, commandError(reply).message);
  if (reply.kind === 'refused' && reply.refusal.details !== undefined) {
    writeTextField(writer, 3, reply.refusal.details);
  }
  writer.endLength(error);
}

/** `ExecuteStateChangeReply`: 0A TransactReply. */
function encodeExecuted(transaction: RecordedTransaction): Uint8Array {
  const writer = new ByteWriter();
  writeBytesField(writer, 1, encodeTransactReply(transaction).subarray(FRAME_HEADER_BYTES));
  return writer.take();
}

/** `DecideStateChangeReply`: 0A decision (0A event*, 12 constraint*) | 12 error | 18 revision. */
function encodeDecided(reply: DecideCommandReply): Uint8Array {
  const writer = new ByteWriter();
  if (reply.kind === 'decided') {
    const decision = beginMessage(writer, 1);
    writer.bytes(encodeEvents(reply.events));
    for (const guard of reply.guards) writeBytesField(writer, 2, encodeConstraint(guard));
    writer.endLength(decision);
  } else {
    writeError(writer, reply);
  }
  if (reply.revision > 0) writeVarintField(writer, 3, reply.revision);
  return writer.take();
}

/** The events in the form of reads, each as field 1. */
function encodeEvents(events: readonly StoredEvent[]): Uint8Array {
  const frames = new EventFrames({ framing: 'batch' });
  for (const event of events) frames.append(event);
  return frames.take().subarray(FRAME_HEADER_BYTES);
}
