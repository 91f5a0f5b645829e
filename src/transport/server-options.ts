/** Options that the servers for clients share: gRPC, HTTP and MCP; and the ports that they listen at. */
import type { ListenAddress } from '#base';
import type { Logger, Metrics, Tracer } from '#observability';
import type { Access } from './access.ts';
import type { ByteBudgets } from './byte-budgets.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Relay } from './relay.ts';
import type { SecurePorts } from './secure.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: the port is bound now. */
  readonly held?: HeldPort | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly budgets: ByteBudgets;
  /** Absent: requests that this node cannot answer are refused. */
  readonly relay?: Relay;
  /** Absent: requests are not authenticated. */
  readonly access?: Access | undefined;
  /** Absent: requests are not limited. */
  readonly rateLimits?: RateLimits | undefined;
  /** Absent: there is no TLS. */
  readonly secure?: SecurePorts | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** A server of HTTP/1. */
export interface WebServer {
  /** `http://host:port` as bound, or `https:`. */
  readonly address: string;
  /** Closes the connection that has waited longest for a complete request; false: none waits. */
  makeRoom(): boolean;
  /** Stops listening, ends idle connections and sessions, and closes the remaining connections at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

export interface HeldPort {
  /** The port that was bound. */
  readonly port: number;
  /** The server that has bound it; another one listens there with `server.listen`. Called once. */
  take(): object;
}

export type ListenPlace = Pick<ServerOptions, 'host' | 'port' | 'held'>;

/** The address, and the held port if there is one. */
export function listenAddress({ host, port, held }: ListenPlace): ListenAddress {
  return { host, port, bound: held?.take() };
}
