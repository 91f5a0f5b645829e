/** Names of methods, traits of their calls, and meters and traces of them. */
import type { Span } from '#observability';

export interface MethodTraits {
  readonly kind: 'unary' | 'server_stream' | 'bidi_stream';
  readonly service: string;
  readonly name: string;
  /**
   * Its reply is sent even when there is no room for it, because it says what was committed. So a call is refused,
   * before anything is tried, when there is no room for what it may be answered.
   */
  readonly mustAnswer?: boolean;
  /** Longest request message, also after it is unpacked. Default: the server's limit. */
  readonly messageBytesMax?: number;
  /** Headers of ours that it takes beside those that all methods take. */
  readonly headers?: readonly string[];
  /** Ends when something happens that may never happen: such calls have places of their own. */
  readonly waits?: boolean;
  /** Is answered at once, also when the node is full: supervisors restart nodes that do not answer it. */
  readonly isProbe?: boolean;
}

/** Calls that may last for ever: those that wait, and the other streams. */
export type CallKind = 'waiting' | 'reading';

/** Undefined: it ends soon. */
export function callKind({ kind, waits = false }: MethodTraits): CallKind | undefined {
  if (waits) return 'waiting';
  return kind === 'server_stream' ? 'reading' : undefined;
}

/** Counters of a method's calls. */
export interface MethodMeter {
  started(): void;
  received(): void;
  sent(count: number): void;
  ended(code: string, seconds: number): void;
}

/** Trace of a call. */
export interface CallTrace {
  readonly span: Span;
  ended(code: string): void;
}
