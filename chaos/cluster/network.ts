/** Interface of the network between the nodes of a run, for both of its implementations. */

/** Position of a node in the network. */
export interface Host {
  /** Address for clients and other nodes. */
  readonly ip: string;
  readonly ports: Readonly<Record<'grpc' | 'http' | 'metrics' | 'peer', number>>;
  /** Command prefix that runs a program on this host. */
  readonly under: readonly string[];
  /** Settings of the node that determine its addresses. */
  readonly settings: readonly string[];
  /** Options of Node.js for the process of the node. */
  readonly nodeOptions: readonly string[];
}

/** Links between nodes. Numbers of nodes start at 1. */
export interface Network {
  /** Absent when links cannot be delayed. */
  readonly delays: Delays | undefined;
  /** Adds the host of a node. */
  add(number: number): Promise<Host>;
  /** Drops or holds back everything that `from` sends to `to`. */
  close(from: number, to: number): Promise<void>;
  open(from: number, to: number): Promise<void>;
  /** Cuts the node off from all other nodes and from clients. */
  unplug(number: number): Promise<void>;
  plug(number: number): Promise<void>;
}

export interface Delays {
  /** Delays everything that `from` sends to `to`; 0 ends the delay. */
  delay(from: number, to: number, delayMs: number): void;
  /** Resets every connection between the node and another one, in both directions. */
  reset(number: number): void;
}
