/**
 * Statuses of requests that are refused before their message is read, with the fault and the remedy.
 *
 * gRPC's own documents name some statuses (statuscodes.md, compression.md). Everything else that is malformed is
 * INVALID_ARGUMENT (ADR 0181). They do not cover messages in an unknown form: these are UNIMPLEMENTED, like an unknown
 * compression (grpc-go's issue 1824 decides the same for its server).
 */
import { DatabaseError, type ErrorCode, quote } from '#base';
import { Faults } from '#model';
import { statusOfError } from './error-status.ts';
import type { FrameFault } from './wire/frame-faults.ts';
import type { CallStatus, GrpcStatusName } from './wire/status.ts';

/** The `reason` in addition to our code. */
const REASON = 'MalformedFrame';

const MEDIA_RULE = 'must be application/grpc or application/grpc+proto';

export function statusOfFrame(fault: FrameFault): CallStatus {
  switch (fault.kind) {
    case 'method':
      return header(':method', 'must be POST', fault.value);
    case 'content-type':
      return header('content-type', MEDIA_RULE, fault.value);
    case 'codec':
      return header('content-type', `${MEDIA_RULE}, because messages are protobuf`, fault.value, 'UNIMPLEMENTED');
    case 'timeout':
      return header(
        'grpc-timeout',
        'must be 1 to 8 digits and a unit of H, M, S, m, u or n, such as 500m',
        fault.value,
      );
    case 'header':
      return header(fault.name, fault.rule, fault.value);
    case 'metadata':
      return header(fault.name, 'must consist of printable ASCII characters', fault.value);
    case 'path': {
      const what = `There is no method ${quote(fault.value)}; server reflection (grpc.reflection.v1) lists those that there are`;
      return statusOfError(new DatabaseError('unimplemented', what));
    }
    case 'headers-too-long':
      return tooLong(`The headers have ${fault.bytes} bytes; they may have at most ${fault.bytesMax}`);
    case 'too-many-headers':
      return tooLong(`The request has ${fault.count} headers; it may have at most ${fault.countMax}`);
    case 'flag':
      return frame(`The first byte of a message must be 0, or 1 when it is compressed; found ${fault.value}`);
    case 'not-encoded': {
      const found = fault.encoding === undefined ? 'is absent' : `is ${quote(fault.encoding)}`;
      const what = `The first byte of the message is 1, for compressed, and grpc-encoding ${found}`;
      return frame(`${what}; it must be gzip or deflate, or the first byte 0`, { as: 'INTERNAL' });
    }
    case 'unknown-encoding': {
      const what = header('grpc-encoding', 'must be identity, deflate or gzip', fault.encoding, 'UNIMPLEMENTED');
      return { ...what, trailers: { 'grpc-accept-encoding': 'identity,deflate,gzip' } };
    }
    case 'too-long':
      return tooLong(`The message has ${fault.bytes} bytes by its prefix; it may have at most ${fault.bytesMax}`);
    case 'unpacked-too-long':
      return tooLong(
        `The message has more than ${fault.bytesMax} bytes, the most it may have, behind its ${fault.encoding}`,
      );
    case 'second-message': {
      const what = `The method takes one message, and a second one begins behind the first of ${fault.firstBytes} bytes`;
      return frame(`${what}; send one, and end the request`, { as: 'UNIMPLEMENTED' });
    }
    case 'no-message': {
      const what = 'The method takes one message, and the request has ended without one';
      return frame(`${what}; one without fields is five bytes of 0`, { as: 'UNIMPLEMENTED' });
    }
    case 'cut-prefix':
      return frame(`The request ends ${fault.received} bytes into the five that stand before a message; send it whole`);
    case 'cut-message': {
      const { received, bytes } = fault;
      return frame(`The request ends ${received} bytes into a message of ${bytes} bytes by its prefix; send it whole`);
    }
    case 'not-packed': {
      const what = `The message is not what grpc-encoding says, ${fault.encoding}: ${fault.why}`;
      return frame(`${what}; send it so compressed, or with a first byte of 0`, { as: 'INTERNAL' });
    }
  }
}

function header(name: string, rule: string, value: string | undefined, as?: GrpcStatusName): CallStatus {
  const faults = new Faults();
  faults.add(name, rule, value);
  const error = faults.toError('The headers are malformed');
  return statusOfError(error.with({ reason: REASON }), as);
}

interface Terms {
  readonly code?: ErrorCode;
  /** Replaces the status of the code. */
  readonly as?: GrpcStatusName;
}

function frame(message: string, { code = 'invalid_argument', as }: Terms = {}): CallStatus {
  return statusOfError(new DatabaseError(code, message, { details: { reason: REASON } }), as);
}

function tooLong(message: string): CallStatus {
  return frame(message, { code: 'too_large' });
}
