/**
 * The gRPC health service (grpc.health.v1): "" and "read" serve until the node drains, "write" while writes can commit,
 * "cairn.v1.EventStore" like "". Watchers receive every change.
 *
 * The names are a fixed set. Another name is kept only by the call that watches it, until its end.
 */
import { DatabaseError, quote } from '#base';
import { Faults } from '#model';
import {
  HealthCheckResponse,
  HealthListResponse,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../proto/gen/grpc/health/v1/health.ts';
import { readText, walkFields } from '../request-reader.ts';
import { OPEN_REQUEST_BYTES_MAX } from './limits.ts';
import { frameReply } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { Method } from './wire/method.ts';

/** Tells whether the node answers reads and accepts writes; polled once a second. */
export interface HealthSource {
  readonly readable: () => boolean;
  readonly writable: () => boolean;
}

const SERVICE = 'grpc.health.v1.Health';
const REFRESH_EVERY_MS = 1000;
const NAME_BYTES_MAX = 255;
const REQUEST = 'grpc.health.v1.HealthCheckRequest';
const SERVICE_TAG = 0x0a;

export function healthMethods(board: HealthBoard): readonly Method[] {
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
function watch(board: HealthBoard, call: Call, name: string): Promise<void> {
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
  const faults = new Faults();
  let name = '';
  walkFields(bytes, REQUEST, (reader, tag) => {
    if (tag === SERVICE_TAG) name = readText(reader, 'service', faults);
    else reader.skipField(tag);
  });
  const length = Buffer.byteLength(name);
  if (length > NAME_BYTES_MAX) faults.add('service', `must have at most ${NAME_BYTES_MAX} bytes; found ${length}`);
  faults.throwIfAny(`The message is not a ${REQUEST}`);
  return name;
}

/** The last known status of each name, and its watchers. It is kept fresh until `stop`. */
export class HealthBoard {
  readonly #timer: NodeJS.Timeout = setInterval(() => this.refresh(), REFRESH_EVERY_MS).unref();
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

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Refreshes the statuses now: for a node that begins to drain. */
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
