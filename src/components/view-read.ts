/**
 * What is asked of a State View, and answered.
 */
import { createHash } from 'node:crypto';
import { compareBytes, encodeUtf8, type Instant } from '#base';
import { encodeSelector, type FoldOrder, type Selector } from '#model';
import type { DatabaseSource } from '#query';
import type { RunnableArtifact } from './artifact-store.ts';

export interface ViewRead {
  readonly source: DatabaseSource;
  readonly databaseId: string;
  /** Name and version: what an epoch belongs to. */
  readonly view: string;
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
  /** True: what was folded before does not count, and is dropped. */
  readonly refolds?: boolean | undefined;
}

export type ViewAnswer =
  | {
      readonly kind: 'rendered';
      readonly bytes: Uint8Array;
      /** False: no event was selected. */
      readonly hasState: boolean;
      /** Events that were folded for this answer. */
      readonly foldedCount: number;
      readonly isFromFirst: boolean;
    }
  | ViewFailure;

export type ViewFailureCode = 'InvalidParameters' | 'WasmExecutionError' | 'Busy';

export interface ViewFailure {
  readonly kind: 'failed';
  readonly code: ViewFailureCode;
  readonly message: string;
}

export function viewFailure(code: ViewFailureCode, message: string): ViewFailure {
  return { kind: 'failed', code, message };
}

/** Everything that a state follows from, besides the events: folds of one key share their snapshots. */
export function foldKey({ databaseId, view, foldEpoch, artifact, selector, order }: ViewRead): string {
  const parts = JSON.stringify([databaseId, view, foldEpoch, artifact.key, order]);
  const hash = createHash('sha256').update(parts).update(encodeSelector(selector));
  return hash.digest('hex').slice(0, 40);
}

/** A JSON object, by the bytes of the names: what a guest is given with a query. */
export function encodeParameters(parameters: ReadonlyMap<string, string>): Uint8Array {
  const members = [...parameters].toSorted(([a], [b]) => compareBytes(encodeUtf8(a), encodeUtf8(b)));
  return encodeUtf8(`{${members.map((member) => member.map((text) => JSON.stringify(text)).join(':')).join(',')}}`);
}
