/** Names of methods, traits of their calls, and meters and traces of them. */
import type { LogFields, Span } from '#observability';

export interface MethodTraits {
  readonly kind: 'unary' | 'server_stream' | 'bidi_stream';
  readonly service: string;
  readonly name: string;
  /**
   * Its reply reports a commit, so it is sent even when there is no room for it. A call is refused before any effect
   * when there is no room for its reply.
   */
  readonly mustAnswer?: boolean;
  /** A leader commits it: replies and errors say which node that is. */
  readonly namesLeader?: boolean;
  /** Maximum length of a request message, also decompressed. Default: the server's limit. */
  readonly messageBytesMax?: number;
  /** Headers of ours that it accepts in addition to those of all methods. */
  readonly headers?: readonly string[];
  /** True when it waits for an event that may never happen: such calls have slots of their own. */
  readonly waits?: boolean;
  /** Is answered at once, also when the node is full: supervisors restart nodes that do not answer it. */
  readonly isProbe?: boolean;
}

/** Calls that may last indefinitely: those that wait, and the other streams. */
export type CallKind = 'waiting' | 'reading';

/** Undefined: it ends soon. */
export function callKind({ kind, waits = false }: MethodTraits): CallKind | undefined {
  if (waits) return 'waiting';
  return kind === 'server_stream' ? 'reading' : undefined;
}

export interface MethodMeter {
  started(): void;
  received(): void;
  sent(count: number): void;
  ended(code: string, seconds: number): void;
}

export interface CallTrace {
  readonly span: Span;
  /** Fields of log lines about the call. */
  readonly fields: LogFields;
  ended(code: string): void;
}
