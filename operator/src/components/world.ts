/** Everything that the plan for a component depends on. */
import type { Presenter, StateChange, StateView } from '../api/index.ts';
import type { Calls, ComponentId, ComponentVersion, Holder } from '../client/index.ts';

export type ComponentResource = StateView | StateChange | Presenter;

export interface Wanted {
  readonly digest: string;
  /** SHA-256 of the digest and the metadata: what a version is published of. */
  readonly publication: string;
}

export type Source = Wanted | { readonly problem: readonly [reason: string, message: string] };

export interface Published {
  readonly publication: string;
  readonly version: number;
}

export interface Target {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly id: ComponentId;
  /** Undefined: not published by this resource. */
  readonly published: Published | undefined;
  readonly state:
    | { readonly versions: readonly ComponentVersion[]; readonly holders: readonly Holder[] }
    /** The database cannot be changed now. Gone: nothing of this resource is left there. */
    | { readonly problem: string; readonly isGone: boolean };
}

export interface World {
  readonly resource: ComponentResource;
  readonly source: Source;
  /** In the order of their names. */
  readonly targets: readonly Target[];
  /** Names of databases that the spec names and that do not exist. */
  readonly missing: readonly string[];
  /** Errors of the actions of this pass, by the names of databases. */
  readonly failures: ReadonlyMap<string, Error>;
  /** Calls of the component on the nodes of all databases; undefined when they are not known, or not needed. */
  readonly calls: Calls | undefined;
  readonly wallMs: number;
}
