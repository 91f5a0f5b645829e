/** Binds the ports of a node, and logs the errors of their servers. */
import { type Address, formatAddress } from './address.ts';
import { DatabaseError } from './error.ts';

/** A server of node:net, node:tls or node:http. */
interface PortServer {
  readonly listening: boolean;
  address(): string | { readonly port: number } | null;
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** At an address, or at the one of a server that has bound it. */
  listen(place: object, listener: () => void): unknown;
}

/** The part of a logger that logs errors. */
export interface ErrorLog {
  error(event: string, fields: { readonly [name: string]: unknown; readonly error: unknown }): void;
}

/** A port in messages and logs; `setting` is the option that sets it. */
interface NamedPort {
  readonly what: string;
  readonly setting: string;
}

/** Where a server listens: an address, or `bound`, another server that has bound it already. */
export interface ListenAddress extends Address {
  readonly bound?: object | undefined;
}

/**
 * Binds and returns the port; 0 picks a free one. Logs the errors of the server afterwards.
 * @throws DatabaseError `unavailable` when the address cannot be bound.
 */
export function listen(server: PortServer, address: ListenAddress, port: NamedPort, logger: ErrorLog): Promise<number> {
  // An error without a listener would end the process.
  server.on('error', (error) => {
    if (server.listening) logger.error('port-failed', { port: port.what, error });
  });
  return new Promise((resolve, reject) => {
    server.on('error', (cause) => reject(cannotListen(address, port, cause)));
    server.listen(address.bound ?? address, () => {
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : address.port);
    });
  });
}

/** The failure of a server that cannot bind its address. */
function cannotListen(address: Address, { what, setting }: NamedPort, cause: Error): DatabaseError {
  const message = `Cannot listen for ${what} on ${formatAddress(address)} (${setting}): ${cause.message}`;
  return new DatabaseError('unavailable', message, { cause });
}
