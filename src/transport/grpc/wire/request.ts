/**
 * The request side of a call: from DATA frames to whole, unpacked messages, or to the status that refuses them (T2).
 *
 * A unary or server-streaming method takes exactly one message and is dispatched when the client has half-closed.
 * A bidirectional method is answered message by message; the stream is paused while an answer waits to leave.
 */
import type { ServerHttp2Stream } from 'node:http2';
import type { Call } from './call.ts';
import { ACCEPTED_ENCODINGS, type UnpackFault, unpackMessage } from './encoding.ts';
import { Deframer, type FramingFault, frame, type WireMessage } from './framing.ts';
import { type CallStatus, OK } from './status.ts';

/** Where a request comes from, and how long its messages may be. */
export interface RequestSource {
  readonly call: Call;
  readonly stream: ServerHttp2Stream;
  readonly bytesMax: number;
}

/** Calls `dispatch` with the one message of the request, or ends the call. */
export function readOneMessage(source: RequestSource, dispatch: (message: Uint8Array) => void): void {
  const { call, stream, bytesMax } = source;
  const deframer = new Deframer(bytesMax);
  stream.on('data', (piece: Buffer) => {
    deframer.push(piece);
    if (deframer.fault !== undefined) call.finish(statusOfFraming(deframer.fault, bytesMax));
  });
  stream.on('end', () => {
    deframer.end();
    call.requestRead();
    const messages = deframer.take();
    const [message] = messages;
    if (deframer.fault !== undefined) call.finish(statusOfFraming(deframer.fault, bytesMax));
    else if (message === undefined || messages.length > 1) call.finish(notOneMessage(messages.length));
    else void deliver(source, message, dispatch);
  });
}

/** Answers every message in order, and ends the call with OK after the last. */
export function answerMessages(
  source: RequestSource,
  run: (work: () => Promise<void>) => void,
  answer: (message: Uint8Array) => Uint8Array,
): void {
  const { call, stream, bytesMax } = source;
  const deframer = new Deframer(bytesMax);
  call.begin();
  // One piece after the other: an answer that waits to leave holds up reading, so a client that does not read its
  // answers is not read either.
  let before = Promise.resolve();
  const answerAll = async (): Promise<void> => {
    await before;
    for (const message of deframer.take()) {
      await deliver(source, message, (bytes) => call.write(frame(answer(bytes)), 1));
      await call.drained();
    }
    if (deframer.fault !== undefined) call.finish(statusOfFraming(deframer.fault, bytesMax));
  };
  const next = (): Promise<void> => {
    before = answerAll();
    return before;
  };
  stream.on('data', (piece: Buffer) => {
    deframer.push(piece);
    stream.pause();
    run(() => next().then(() => void stream.resume()));
  });
  stream.on('end', () => {
    deframer.end();
    call.requestRead();
    run(() => next().then(() => call.finish(OK)));
  });
}

/** Hands the message on as it was before it was compressed, or ends the call. */
function deliver(
  source: RequestSource,
  message: WireMessage,
  take: (bytes: Uint8Array) => void,
): Promise<void> | undefined {
  source.call.messageRead();
  if (message.compressed) return unpack(source, message.bytes, take);
  take(message.bytes);
  return undefined;
}

async function unpack(source: RequestSource, packed: Uint8Array, take: (bytes: Uint8Array) => void): Promise<void> {
  const { call, bytesMax } = source;
  const encoding = call.header('grpc-encoding') ?? 'identity';
  const unpacked = await unpackMessage(packed, { encoding, bytesMax });
  if (unpacked.kind === 'ok') take(unpacked.value);
  else call.finish(statusOfUnpack(unpacked.reason, encoding, bytesMax));
}

function statusOfFraming(fault: FramingFault, bytesMax: number): CallStatus {
  switch (fault.kind) {
    case 'bad-flag':
      return invalid(`A message begins with the byte ${fault.flag}; it must be 0 (plain) or 1 (compressed)`);
    case 'truncated':
      return invalid(`The request ends after ${fault.found} of the ${fault.expected} bytes of a framed message`);
    case 'too-long':
      return tooLong(`The message has ${fault.length} bytes`, bytesMax);
  }
}

function statusOfUnpack(fault: UnpackFault, encoding: string, bytesMax: number): CallStatus {
  switch (fault) {
    case 'unknown-encoding':
      return {
        code: 'UNIMPLEMENTED',
        message: `grpc-encoding is ${JSON.stringify(encoding)}; this server unpacks ${ACCEPTED_ENCODINGS}`,
        trailers: { 'grpc-accept-encoding': ACCEPTED_ENCODINGS },
      };
    case 'malformed':
      return invalid(`The compressed message is not ${encoding}`);
    case 'too-long':
      return tooLong('The message unpacks to more bytes', bytesMax);
  }
}

function notOneMessage(count: number): CallStatus {
  return invalid(`The request has ${count === 0 ? 'no message' : `${count} messages`}; it must have one`);
}

function invalid(message: string): CallStatus {
  return { code: 'INVALID_ARGUMENT', message };
}

function tooLong(what: string, bytesMax: number): CallStatus {
  return { code: 'RESOURCE_EXHAUSTED', message: `${what}; at most ${bytesMax} are taken` };
}
