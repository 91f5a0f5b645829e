/**
 * Server reflection (grpc.reflection.v1 and v1alpha), so that tools can call the services without their proto files.
 *
 * It is rarely used, so the first call loads the implementation (reflection-service.ts) and the descriptors, and waits
 * for them. The messages of both versions are the same.
 *
 * A reply is made when the previous one was sent, so a stream holds one reply (T4).
 */
import { OPEN_REQUEST_BYTES_MAX } from './limits.ts';
import type { ReflectionAnswer } from './reflection-service.ts';
import type { Call } from './wire/call.ts';
import { frame } from './wire/framing.ts';
import type { DuplexMethod } from './wire/method.ts';

const SERVICES: readonly string[] = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

export const REFLECTION_LIMITS: {
  readonly streamsMax: number;
  /** Maximum bytes of the requests of one stream: several times those needed to request every file and symbol. */
  readonly streamBytesMax: number;
} = { streamsMax: 256, streamBytesMax: 64 * 1024 };

/** Both versions. */
export function reflectionMethods(): readonly DuplexMethod[] {
  const { streamsMax, streamBytesMax } = REFLECTION_LIMITS;
  let loading: Promise<ReflectionAnswer> | undefined;
  let openCount = 0;
  const handle: DuplexMethod['handle'] = async (call, requests) => {
    if (openCount >= streamsMax) {
      const most = `${streamsMax} streams of server reflection are open, the limit`;
      call.finish({ code: 'RESOURCE_EXHAUSTED', message: most });
      return;
    }
    openCount += 1;
    try {
      loading ??= import('./reflection-service.ts').then(({ createReflectionAnswer }) => createReflectionAnswer());
      await converse(call, requests, await loading);
    } finally {
      openCount -= 1;
    }
  };
  const traits = {
    kind: 'bidi_stream',
    name: 'ServerReflectionInfo',
    messageBytesMax: OPEN_REQUEST_BYTES_MAX,
  } as const;
  return SERVICES.map((service) => ({ ...traits, service, streamBytesMax, handle }));
}

async function converse(call: Call, requests: AsyncIterable<Uint8Array>, answer: ReflectionAnswer): Promise<void> {
  for await (const request of requests) {
    const reply = answer(request);
    if (reply === undefined) {
      const what = 'The message is not a ServerReflectionRequest: its bytes are not the fields of one';
      call.finish({ code: 'INVALID_ARGUMENT', message: what });
      return;
    }
    if (!call.answered) call.begin();
    call.write(frame(reply), 1);
    await call.drained();
  }
}
