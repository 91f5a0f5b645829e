/** Inputs and results of a State View read. */
import { createHash } from 'node:crypto';
import { compareBytes, encodeUtf8, type Instant } from '#base';
import { encodeSelector, type FoldOrder, type Position, type Selector } from '#model';
import type { DatabaseSource } from '#query';
import type { RunnableArtifact } from './artifact-store.ts';
import type { Failure, GuestFailureCode } from './guest-failures.ts';
import type { ViewTitle } from './sdk-values.ts';

export interface ViewRead {
  readonly source: DatabaseSource;
  readonly databaseId: string;
  /** Name and version, which the fold epoch belongs to. */
  readonly view: string;
  /** Name and version for components of the SDK's shape. */
  readonly title?: ViewTitle | undefined;
  readonly foldEpoch: number;
  readonly artifact: RunnableArtifact;
  /** The selector with bound parameters. */
  readonly selector: Selector;
  readonly order: FoldOrder;
  /** Values by parameter name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** The revision of the read, which is applied. */
  readonly at: number;
  /** The last effective time that is included. Required by a view in that order, and ignored by others. */
  readonly cut?: Instant | undefined;
  /** True: folds from the first event and stores nothing. */
  readonly refolds?: boolean | undefined;
}

export type ViewAnswer =
  | {
      readonly kind: 'rendered';
      readonly bytes: Uint8Array;
      /** False when no event was selected. */
      readonly hasState: boolean;
      /** Position of the last folded event. */
      readonly last?: Position | undefined;
      /** Number of events folded for this answer. */
      readonly foldedCount: number;
      readonly isFromFirst: boolean;
    }
  | ViewFailure;

export type ViewFailureCode = GuestFailureCode | 'InvalidParameters';
export type ViewFailure = Failure<ViewFailureCode>;

/** Hash of everything that determines a state besides the events: folds with the same key share their snapshots. */
export function foldKey({ databaseId, view, title, foldEpoch, artifact, selector, order }: ViewRead): string {
  const told = artifact.binding.shape === 'sdk' ? [title ?? null] : [];
  const parts = JSON.stringify([databaseId, view, foldEpoch, artifact.key, order, ...told]);
  const hash = createHash('sha256').update(parts).update(encodeSelector(selector));
  return hash.digest('hex').slice(0, 40);
}

/** A JSON object sorted by the bytes of the names, the input of a query for the guest. */
export function encodeParameters(parameters: ReadonlyMap<string, string>): Uint8Array {
  const members = [...parameters].toSorted(([a], [b]) => compareBytes(encodeUtf8(a), encodeUtf8(b)));
  return encodeUtf8(`{${members.map((member) => member.map((text) => JSON.stringify(text)).join(':')).join(',')}}`);
}
