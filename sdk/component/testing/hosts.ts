/**
 * Hosts of components in tests, for each kind: one for plain code (plain.ts) and one for built components (real.ts).
 * Both receive the bytes and records of the real interface, so a scenario applies to both.
 */
import type { CloudEventRecord, Tagged } from '../src/event.ts';
import type { PresentationRecord, PresentErrorKind } from '../src/presenter.ts';
import type { CommandRecord, ReaderFunctions, RefusalKind } from '../src/state-change.ts';

/** The result of a component. Any other end of a component is thrown. */
export type Said<Value, Wrong> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'error'; readonly error: Wrong };

export interface ViewHost {
  /** Folds in one batch. */
  fold(state: Uint8Array, events: readonly Uint8Array[]): Promise<Said<Uint8Array, string>>;
  /** Folds one event with `evolve`. */
  step(state: Uint8Array, event: Uint8Array): Promise<Said<Uint8Array, string>>;
  query(state: Uint8Array, parameters: Uint8Array): Promise<Said<Uint8Array, string>>;
}

export interface Explained {
  readonly message: string;
  readonly code: string | undefined;
  readonly details: string | undefined;
}

export interface ChangeHost {
  decide(
    command: CommandRecord,
    reader: ReaderFunctions,
  ): Promise<Said<readonly CloudEventRecord[], Tagged<RefusalKind, Explained>>>;
}

export interface Presented {
  readonly outcome: Said<undefined, Tagged<PresentErrorKind, string>>;
  /** The parts as written. */
  readonly parts: readonly Uint8Array[];
  readonly continuation: string | undefined;
}

export interface PresenterHost {
  /** The reader stops after so many parts. */
  present(presentation: PresentationRecord, state: Uint8Array, partsMax: number): Promise<Presented>;
}
