/**
 * What is asked of a State View, and answered.
 */
import { createHash } from 'node:crypto';
import { compareBytes, encodeUtf8, type Instant } from '#base';
import { encodeSelector, type FoldOrder, type Position, type Selector } from '#model';
import type { DatabaseSource } from '#query';
import type { Fault } from '#wasm';
import type { RunnableArtifact } from './artifact-store.ts';
import type { ViewTitle } from './sdk-values.ts';

export interface ViewRead {
  readonly source: DatabaseSource;
  readonly databaseId: string;
  /** Name and version: what an epoch belongs to. */
  readonly view: string;
  /** What a component of the SDK's shape is told of the view; without it, nothing. */
  readonly title?: ViewTitle | undefined;
  readonly foldEpoch: number;
  readonly artifact: RunnableArtifact;
  /** With the parameters of the read in it. */
  readonly selector: Selector;
  readonly order: FoldOrder;
  /** Values by the names of the parameters. */
  readonly parameters: ReadonlyMap<string, string>;
  /** The revision to read at, which is applied. */
  readonly at: number;
  /** The last effective time that counts. Required by a view in that order, and not looked at by the other. */
  readonly cut?: Instant | undefined;
  /** True: it is folded from the first event on, and nothing of that is kept. */
  readonly refolds?: boolean | undefined;
}

export type ViewAnswer =
  | {
      readonly kind: 'rendered';
      readonly bytes: Uint8Array;
      /** False: no event was selected. */
      readonly hasState: boolean;
      /** The event that was folded last. */
      readonly last?: Position | undefined;
      /** Events that were folded for this answer. */
      readonly foldedCount: number;
      readonly isFromFirst: boolean;
    }
  | ViewFailure;

/** `Quarantined`: the component is not called for a while. */
export type ViewFailureCode = 'InvalidParameters' | 'WasmExecutionError' | 'Busy' | 'Quarantined';

export interface ViewFailure {
  readonly kind: 'failed';
  readonly code: ViewFailureCode;
  readonly message: string;
  /** After which it may be asked again; undefined: nobody knows. */
  readonly retryAfterMs?: number | undefined;
}

export function viewFailure(code: ViewFailureCode, message: string): ViewFailure {
  return { kind: 'failed', code, message };
}

export function viewFault({ code, message, retryAfterMs }: Fault): ViewFailure {
  if (code === 'Quarantined') return { kind: 'failed', code, message, retryAfterMs };
  return code === 'Busy' ? viewFailure(code, message) : viewFailure('WasmExecutionError', `${code}: ${message}`);
}

/** Everything that a state follows from, besides the events: folds of one key share their snapshots. */
export function foldKey({ databaseId, view, title, foldEpoch, artifact, selector, order }: ViewRead): string {
  const told = artifact.binding.shape === 'sdk' ? [title ?? null] : [];
  const parts = JSON.stringify([databaseId, view, foldEpoch, artifact.key, order, ...told]);
  const hash = createHash('sha256').update(parts).update(encodeSelector(selector));
  return hash.digest('hex').slice(0, 40);
}

/** A JSON object, by the bytes of the names: what a guest is given with a query. */
export function encodeParameters(parameters: ReadonlyMap<string, string>): Uint8Array {
  const members = [...parameters].toSorted(([a], [b]) => compareBytes(encodeUtf8(a), encodeUtf8(b)));
  return encodeUtf8(`{${members.map((member) => member.map((text) => JSON.stringify(text)).join(':')).join(',')}}`);
}
