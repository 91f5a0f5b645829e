/**
 * Server reflection (grpc.reflection.v1 and v1alpha), so that tools can call the services without their proto files.
 *
 * It is rarely used, so the first call loads the implementation (reflection-service.ts) and the descriptors, and waits
 * for them. The messages of both versions are the same.
 *
 * A reply is made when the previous one was sent, so a stream holds one reply and a bounded number of waiting requests
 * (T4).
 */
import { OPEN_REQUEST_BYTES_MAX } from './limits.ts';
import type { ReflectionAnswer } from './reflection-service.ts';
import type { Call } from './wire/call.ts';
import { frame } from './wire/framing.ts';
import type { DuplexMethod, RequestListener } from './wire/method.ts';
import { type GrpcStatusName, OK } from './wire/status.ts';

const SERVICES: readonly string[] = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

export const REFLECTION_LIMITS: {
  /** Concurrent streams of all clients. */
  readonly streamsMax: number;
  /** Maximum bytes of the requests of one stream: several times those needed to request every file and symbol. */
  readonly streamBytesMax: number;
} = { streamsMax: 256, streamBytesMax: 64 * 1024 };

/** Overhead of a request besides its bytes, so that empty ones are bounded, too. */
const AROUND_REQUEST_BYTES = 64;

/** Both versions. */
export function reflectionMethods(onBug: (error: unknown) => void): readonly DuplexMethod[] {
  let loading: Promise<ReflectionAnswer> | undefined;
  let openCount = 0;
  const open = (call: Call): RequestListener => {
    const conversation = new Conversation(call);
    if (openCount >= REFLECTION_LIMITS.streamsMax) {
      const most = `${REFLECTION_LIMITS.streamsMax} streams of server reflection are open, which is the most at a time`;
      conversation.refuse('RESOURCE_EXHAUSTED', most);
      return conversation;
    }
    openCount += 1;
    call.signal.addEventListener('abort', () => {
      openCount -= 1;
    });
    loading ??= import('./reflection-service.ts').then(({ createReflectionAnswer }) => createReflectionAnswer());
    loading
      .then((answer) => conversation.answerBy(answer))
      .catch((error: unknown) => {
        onBug(error);
        conversation.refuse('INTERNAL', 'Server reflection cannot be loaded');
      });
    return conversation;
  };
  return SERVICES.map((service) => ({
    kind: 'bidi_stream',
    service,
    name: 'ServerReflectionInfo',
    messageBytesMax: OPEN_REQUEST_BYTES_MAX,
    open,
  }));
}

/** Answers the requests of a stream, one after the other. */
class Conversation implements RequestListener {
  readonly #call: Call;
  readonly #waiting: Uint8Array[] = [];
  #answer: ReflectionAnswer | undefined;
  #receivedBytes = 0;
  #isSending = false;
  #hasAskedAll = false;

  constructor(call: Call) {
    this.#call = call;
  }

  answerBy(answer: ReflectionAnswer): void {
    this.#answer = answer;
    this.#next();
  }

  refuse(code: GrpcStatusName, message: string): void {
    this.#waiting.length = 0;
    this.#call.finish({ code, message });
  }

  message(request: Uint8Array): void {
    if (this.#call.ended) return;
    this.#call.received();
    this.#receivedBytes += request.length + AROUND_REQUEST_BYTES;
    if (this.#receivedBytes > REFLECTION_LIMITS.streamBytesMax) {
      this.refuse('RESOURCE_EXHAUSTED', 'So many requests are not answered on one stream; go on with another');
    } else {
      this.#waiting.push(request);
      this.#next();
    }
  }

  end(): void {
    this.#hasAskedAll = true;
    this.#next();
  }

  #next(): void {
    const call = this.#call;
    if (this.#answer === undefined || this.#isSending || call.ended) return;
    const request = this.#waiting.shift();
    if (request === undefined) {
      if (this.#hasAskedAll) call.finish(OK);
      return;
    }
    const reply = this.#answer(request);
    if (reply === undefined) {
      const what = 'The message is not a ServerReflectionRequest: its bytes are not the fields of one';
      this.refuse('INVALID_ARGUMENT', what);
      return;
    }
    if (!call.answered) call.begin();
    this.#isSending = true;
    call.write(frame(reply), 1);
    void this.#afterSending();
  }

  async #afterSending(): Promise<void> {
    await this.#call.drained();
    this.#isSending = false;
    this.#next();
  }
}
