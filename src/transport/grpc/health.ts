/**
 * The gRPC health service (grpc.health.v1): "" and "read" serve until the node drains, "write" while writes can commit,
 * "cairn.v1.EventStore" like "". Watchers hear of every change.
 */
import { ByteWriter, beginMessage, decodeUtf8, ProtoReader, WIRE_BYTES, writeBytesField, writeTextField } from '#base';
import type { Call } from './wire/call.ts';
import { frame } from './wire/framing.ts';
import { REPLY_HEADERS } from './wire/headers.ts';
import type { Method } from './wire/method.ts';

const SERVICE = 'grpc.health.v1.Health';

export const SERVING_STATUS = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const;
export type ServingStatus = keyof typeof SERVING_STATUS;

/** Whether the node answers reads and takes writes, asked whenever somebody wants to know. */
export interface HealthSource {
  readonly readable: () => boolean;
  readonly writable: () => boolean;
}

/** Field 1 of HealthCheckRequest. */
const SERVICE_TAG = 8 + WIRE_BYTES;

/** How often a watched status is looked at. */
const WATCH_EVERY_MS = 1000;

export function healthMethods(source: HealthSource): readonly Method[] {
  const probes: ReadonlyMap<string, () => boolean> = new Map([
    ['', source.readable],
    ['read', source.readable],
    ['write', source.writable],
    ['cairn.v1.EventStore', source.readable],
  ]);
  const statusOf = (name: string): ServingStatus => {
    const probe = probes.get(name);
    if (probe === undefined) return 'SERVICE_UNKNOWN';
    return probe() ? 'SERVING' : 'NOT_SERVING';
  };
  return [
    { kind: 'unary', service: SERVICE, name: 'Check', handle: (call, message) => check(call, message, statusOf) },
    {
      kind: 'unary',
      service: SERVICE,
      name: 'List',
      handle: (call) => call.reply(frame(listResponse([...probes.keys()], statusOf)), REPLY_HEADERS),
    },
    {
      kind: 'server_stream',
      service: SERVICE,
      name: 'Watch',
      handle: (call, message) => watch(call, message, statusOf),
    },
  ];
}

function check(call: Call, message: Uint8Array, statusOf: (name: string) => ServingStatus): void {
  const name = readService(message);
  const status = name === undefined ? undefined : statusOf(name);
  if (status === undefined)
    call.finish({ code: 'INVALID_ARGUMENT', message: 'The message is not a HealthCheckRequest' });
  else if (status === 'SERVICE_UNKNOWN') {
    call.finish({ code: 'NOT_FOUND', message: `There is no health of ${JSON.stringify(name)}` });
  } else call.reply(frame(checkResponse(status)), REPLY_HEADERS);
}

async function watch(call: Call, message: Uint8Array, statusOf: (name: string) => ServingStatus): Promise<void> {
  const name = readService(message);
  if (name === undefined) {
    call.finish({ code: 'INVALID_ARGUMENT', message: 'The message is not a HealthCheckRequest' });
    return;
  }
  call.begin();
  let told: ServingStatus | undefined;
  const tell = (): void => {
    const status = statusOf(name);
    if (status === told) return;
    told = status;
    call.write(frame(checkResponse(status)), 1);
  };
  tell();
  const timer = setInterval(tell, WATCH_EVERY_MS);
  await new Promise<void>((resolve) => call.signal.addEventListener('abort', () => resolve()));
  clearInterval(timer);
}

function checkResponse(status: ServingStatus): Uint8Array {
  return Uint8Array.of(0x08, SERVING_STATUS[status]);
}

function listResponse(names: readonly string[], statusOf: (name: string) => ServingStatus): Uint8Array {
  const response = new ByteWriter();
  for (const name of names) {
    const entry = beginMessage(response, 1);
    writeTextField(response, 1, name);
    writeBytesField(response, 2, checkResponse(statusOf(name)));
    response.endLength(entry);
  }
  return response.take();
}

/** The service that is asked about; undefined when the bytes are no request. */
function readService(bytes: Uint8Array): string | undefined {
  const reader = new ProtoReader(bytes);
  let name: string | undefined = '';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === SERVICE_TAG) name = decodeUtf8(bytes, reader.lengthDelimited(), reader.at);
    else reader.skipField(tag);
  }
  return reader.failed ? undefined : name;
}
