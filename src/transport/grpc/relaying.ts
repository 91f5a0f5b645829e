/** What the gRPC server has other nodes answer, because it holds no copy of the database. */
import type { RateLimits } from '../rate-limits.ts';
import { RELAYED, type Relay } from '../relay.ts';
import { relayCall } from './relay-call.ts';
import { RelayConnections } from './relay-connections.ts';
import { parseTransactRequest } from './transact-request.ts';
import type { Call } from './wire/call.ts';

export interface GrpcRelaying {
  /** Has another node answer, if that can; undefined: the failure is the answer. */
  readonly elsewhere: (call: Call, failure: unknown) => Promise<void> | undefined;
  close(): void;
}

export interface GrpcRelayingParts {
  readonly relay: Relay;
  readonly writes: ReadonlySet<string>;
  readonly rateLimits: RateLimits | undefined;
}

export function createGrpcRelaying({ relay, writes, rateLimits }: GrpcRelayingParts): GrpcRelaying {
  const connections = new RelayConnections(relay.dial);
  return {
    elsewhere: (call, failure) => {
      const elsewhere = relay.elsewhere(failure, call.header(RELAYED));
      if (elsewhere === undefined) return undefined;
      const { message } = call;
      const isWrite = writes.has(call.method.name);
      const isRepeatable = (): boolean =>
        call.method.name === 'Transact' && parseTransactRequest(message).transactionId !== undefined;
      const relayed = { call, message, connections, relayedBy: relay.name, rateLimits, isWrite };
      return relay.relay(elsewhere, { protocol: 'grpc', isWrite, isRepeatable, span: call.trace?.span }, (asking) =>
        relayCall(relayed, asking),
      );
    },
    close: () => connections.close(),
  };
}
