/**
 * The gRPC health service (grpc.health.v1): "" and "read" serve until the node drains, "write" while writes can commit,
 * "cairn.v1.EventStore" like "". Watchers receive every change.
 *
 * The names are a fixed set. Another name is kept only by the call that watches it, until its end.
 */
import { isUtf8 } from 'node:buffer';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { DatabaseError, quote } from '#base';
import { Faults } from '#model';
import {
  HealthCheckResponse,
  HealthListResponse,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../proto/gen/grpc/health/v1/health.ts';
import { OPEN_REQUEST_BYTES_MAX } from './limits.ts';
import { frameReply } from './messages.ts';
import type { Call } from './wire/call.ts';
import type { Method } from './wire/method.ts';

/** Tells whether the node answers reads and accepts writes; polled once a second. */
export interface HealthSource {
  readonly readable: () => boolean;
  readonly writable: () => boolean;
}

/** The methods of the service; their statuses are kept fresh until `stop`. */
export interface HealthService {
  readonly methods: readonly Method[];
  /** Refreshes the statuses now: for a node that begins to drain. */
  refresh(): void;
  stop(): void;
}

const SERVICE = 'grpc.health.v1.Health';
const REFRESH_EVERY_MS = 1000;
const NAME_BYTES_MAX = 255;
/** Field of grpc.health.v1.HealthCheckRequest. */
const SERVICE_FIELD = 1;
const WHAT = 'The message is not a grpc.health.v1.HealthCheckRequest';

export function createHealthService(source: HealthSource): HealthService {
  const board = new StatusBoard(source);
  const timer = setInterval(() => board.refresh(), REFRESH_EVERY_MS).unref();
  return { methods: methodsOf(board), refresh: () => board.refresh(), stop: () => clearInterval(timer) };
}

function methodsOf(board: StatusBoard): readonly Method[] {
  const traits = { service: SERVICE, messageBytesMax: OPEN_REQUEST_BYTES_MAX };
  return [
    {
      ...traits,
      kind: 'unary',
      name: 'Check',
      isProbe: true,
      handle: (call, bytes) => {
        const name = nameOf(bytes);
        const status = board.statusOf(name);
        if (status === Serving.SERVICE_UNKNOWN) {
          const known = Object.keys(board.all())
            .map((each) => quote(each))
            .join(', ');
          throw new DatabaseError(
            'not_found',
            `There is no service ${quote(name)} whose health is known; known are ${known}`,
          );
        }
        call.reply(frameReply(HealthCheckResponse, { status }));
      },
    },
    {
      ...traits,
      kind: 'unary',
      name: 'List',
      isProbe: true,
      handle: (call) => call.reply(frameReply(HealthListResponse, { statuses: board.all() })),
    },
    {
      ...traits,
      kind: 'server_stream',
      name: 'Watch',
      waits: true,
      handle: (call, bytes) => watch(board, call, nameOf(bytes)),
    },
  ];
}

/** Sends the status now and after every change, until the call ends. A slow reader gets the latest one. */
function watch(board: StatusBoard, call: Call, name: string): Promise<void> {
  let told: Serving | undefined;
  let isSending = false;
  // Sends at once if possible: a draining node ends the call right after it has notified its watchers.
  const tell = (): void => {
    const status = board.statusOf(name);
    if (status === told || isSending) return;
    told = status;
    isSending = !call.write(frameReply(HealthCheckResponse, { status }), 1);
    if (isSending) void call.drained().then(sent);
  };
  const sent = (): void => {
    isSending = false;
    tell();
  };
  call.begin();
  tell();
  return board.watch(tell, call.signal);
}

function nameOf(bytes: Uint8Array): string {
  const name = nameBytesOf(bytes);
  const service = Buffer.from(name).toString();
  const faults = new Faults();
  if (!isUtf8(name)) faults.add('service', 'must be well-formed UTF-8', service);
  const most = `must have at most ${NAME_BYTES_MAX} bytes; found ${name.length}`;
  if (name.length > NAME_BYTES_MAX) faults.add('service', most);
  faults.throwIfAny(WHAT);
  return service;
}

/** The name as sent; the decoder refuses invalid UTF-8 without position or value. */
function nameBytesOf(bytes: Uint8Array): Uint8Array {
  const reader = new BinaryReader(bytes);
  let name: Uint8Array = new Uint8Array(0);
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === SERVICE_FIELD && type === WireType.LengthDelimited) name = reader.bytes();
      else reader.skip(type, field);
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError('invalid_argument', `${WHAT} at byte ${reader.pos}: ${why}`);
  }
  return name;
}

/** The last known status of each name, and its watchers. */
class StatusBoard {
  readonly #probes: ReadonlyMap<string, () => boolean>;
  readonly #serving = new Map<string, boolean>();
  readonly #watchers = new Set<() => void>();

  constructor({ readable, writable }: HealthSource) {
    this.#probes = new Map([
      ['', readable],
      ['read', readable],
      ['write', writable],
      ['cairn.v1.EventStore', readable],
    ]);
    this.refresh();
  }

  refresh(): void {
    let isChanged = false;
    for (const [name, probe] of this.#probes) {
      const isServing = probe();
      if (this.#serving.get(name) === isServing) continue;
      this.#serving.set(name, isServing);
      isChanged = true;
    }
    if (isChanged) for (const tell of this.#watchers) tell();
  }

  statusOf(name: string): Serving {
    const isServing = this.#serving.get(name);
    if (isServing === undefined) return Serving.SERVICE_UNKNOWN;
    return isServing ? Serving.SERVING : Serving.NOT_SERVING;
  }

  all(): Record<string, HealthCheckResponse> {
    return Object.fromEntries(Array.from(this.#serving.keys(), (name) => [name, { status: this.statusOf(name) }]));
  }

  /** Calls `tell` after each change of any status; resolves when the signal aborts. */
  watch(tell: () => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    this.#watchers.add(tell);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#watchers.delete(tell);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
