/** What a method is called, and what is counted of its calls. */

export interface MethodName {
  readonly kind: 'unary' | 'server_stream';
  readonly service: string;
  readonly name: string;
  /**
   * Its reply is sent even when there is no room for it, because it says what was committed. So a call is refused, before
   * anything is tried, when there is no room for what it may be answered.
   */
  readonly mustAnswer?: boolean;
  /** Is answered at once, also while the most calls are in flight: whoever restarts nodes goes by it. */
  readonly isProbe?: boolean;
}

/** What is counted of a method's calls. */
export interface MethodMeter {
  started(): void;
  received(): void;
  sent(count: number): void;
  ended(code: string, seconds: number): void;
}
