/** Relays calls for a database without a replica on this node. */
import { RELAYED, type Relay } from '../relay.ts';
import { relayCall } from './relay-call.ts';
import { RelayConnections } from './relay-connections.ts';
import { parseTransactRequest } from './transact-request.ts';
import type { Call } from './wire/call.ts';

export interface GrpcRelaying {
  /** Relays the call, if another node can answer it; undefined: the failure is the answer. */
  readonly elsewhere: (call: Call, failure: unknown) => Promise<void> | undefined;
  close(): void;
}

export function createGrpcRelaying(relay: Relay): GrpcRelaying {
  const connections = new RelayConnections(relay.dial);
  return {
    elsewhere: (call, failure) => {
      const elsewhere = relay.elsewhere(failure, call.header(RELAYED));
      if (elsewhere === undefined) return undefined;
      const { message, method, trace } = call;
      const isWrite = method.namesLeader === true;
      const isRepeatable = (): boolean =>
        method.name === 'Transact' && parseTransactRequest(message).transactionId !== undefined;
      const relayed = { call, message, connections, relay, isWrite };
      return relay.relay(elsewhere, { protocol: 'grpc', isWrite, isRepeatable, span: trace?.span }, (asking) =>
        relayCall(relayed, asking),
      );
    },
    close: () => connections.close(),
  };
}
