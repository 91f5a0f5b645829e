/** The status codes of gRPC, and the status that ends a call. */
import type { OutgoingHttpHeaders } from 'node:http2';
import type { ErrorCode } from '#base';

export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatusName = keyof typeof GRPC_STATUS;

/** Total over the codes of `#base`: a new one does not compile without its status. */
export const STATUS_OF_CODE: Readonly<Record<ErrorCode, GrpcStatusName>> = {
  invalid_argument: 'INVALID_ARGUMENT',
  not_found: 'NOT_FOUND',
  already_exists: 'ALREADY_EXISTS',
  constraint_violated: 'FAILED_PRECONDITION',
  too_large: 'RESOURCE_EXHAUSTED',
  rate_limited: 'RESOURCE_EXHAUSTED',
  storage_full: 'RESOURCE_EXHAUSTED',
  busy: 'UNAVAILABLE',
  not_leader: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  not_acceptable: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  permission_denied: 'PERMISSION_DENIED',
  unimplemented: 'UNIMPLEMENTED',
  internal: 'INTERNAL',
};

/** Headers or trailers: values by lowercase names, as node:http2 takes them. */
export type Fields = Readonly<NodeJS.Dict<string | string[]>>;

export interface CallStatus {
  readonly code: GrpcStatusName;
  readonly message: string;
  /** A serialised google.rpc.Status. */
  readonly details?: Uint8Array;
  /** Additional trailers, by lowercase name. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** With the message of grpc-js. */
export const OK: CallStatus = { code: 'OK', message: 'OK' };

/** A bug, which the server has logged. */
export const BUG: CallStatus = { code: 'INTERNAL', message: 'This is a bug in Cairn; the log of the node says more' };

/** Headers of a reply without messages. */
export function headersOf(status: CallStatus): OutgoingHttpHeaders {
  return { ':status': 200, 'content-type': 'application/grpc+proto', ...trailersOf(status) };
}

/** Trailers after messages. */
export function trailersOf({ code, message, details, trailers }: CallStatus): OutgoingHttpHeaders {
  return {
    'grpc-status': GRPC_STATUS[code],
    'grpc-message': encodeURI(message.toWellFormed()),
    ...(details !== undefined && { 'grpc-status-details-bin': Buffer.from(details).toString('base64') }),
    ...trailers,
  };
}

/** The name of another server's status code; UNKNOWN for any that gRPC does not define. */
export function statusName(code: number): GrpcStatusName {
  return NAMES.find((name) => GRPC_STATUS[name] === code) ?? 'UNKNOWN';
}

const isStatusName = (name: string): name is GrpcStatusName => name in GRPC_STATUS;

const NAMES: readonly GrpcStatusName[] = Object.keys(GRPC_STATUS).filter(isStatusName);
