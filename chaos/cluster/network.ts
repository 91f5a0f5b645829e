/** The network between the nodes of a run, whatever it is made of. */

/** The place of a node in the network. */
export interface Host {
  /** Where it is found. */
  readonly ip: string;
  readonly ports: Readonly<Record<'grpc' | 'http' | 'metrics' | 'peer', number>>;
  /** The command that runs another one there. */
  readonly under: readonly string[];
  /** What the node there is told of its addresses. */
  readonly settings: readonly string[];
  /** Options of Node for the process there. */
  readonly nodeOptions: readonly string[];
}

/** Links between nodes, which have numbers from 1 on. */
export interface Network {
  /** Absent: nothing can be delayed here. */
  readonly delays: Delays | undefined;
  /** Adds the host of a node. */
  add(number: number): Promise<Host>;
  /** What the one sends to the other does not arrive any more. */
  close(from: number, to: number): Promise<void>;
  open(from: number, to: number): Promise<void>;
  /** The node hears nobody, and nobody hears it, clients neither. */
  unplug(number: number): Promise<void>;
  plug(number: number): Promise<void>;
}

export interface Delays {
  /** What the one sends to the other takes so long, from now on. */
  delay(from: number, to: number, delayMs: number): void;
  /** Every connection that the node has with another one is lost, whichever of them began it. */
  reset(number: number): void;
}
