import type { Fact } from '../decision.ts';

/** One case of a feature: what had happened, what is asked for, and the event or the refusal that follows. */
export interface Scenario<Command> {
  readonly name: string;
  readonly past: readonly Fact[];
  readonly command: Command;
  readonly outcome: Fact | string;
}
