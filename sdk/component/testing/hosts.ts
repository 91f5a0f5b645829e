/**
 * What runs a component in a test: a host for each kind, of which there are two, that of plain code (plain.ts) and that
 * of what was built (real.ts). Both are given bytes and records as they cross, so a scenario says the same of both.
 */
import type { CloudEventRecord, Tagged } from '../src/event.ts';
import type { PresentationRecord, PresentErrorKind } from '../src/presenter.ts';
import type { CommandRecord, ReaderFunctions, RefusalKind } from '../src/state-change.ts';

/** What a component answers, or what it says is wrong. What ends a component in another way is thrown. */
export type Said<Value, Wrong> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'error'; readonly error: Wrong };

export interface ViewHost {
  /** In one batch. */
  fold(state: Uint8Array, events: readonly Uint8Array[]): Promise<Said<Uint8Array, string>>;
  /** By `evolve`, for one event. */
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
  /** The parts, as they were written. */
  readonly parts: readonly Uint8Array[];
  readonly continuation: string | undefined;
}

export interface PresenterHost {
  /** The reader goes away behind so many parts. */
  present(presentation: PresentationRecord, state: Uint8Array, partsMax: number): Promise<Presented>;
}
