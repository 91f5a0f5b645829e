/** An extractor identifies the client of a request, its principal, by one kind of credential. */
import type { X509Certificate } from 'node:crypto';
import type { Grant } from '#model';

/** Credentials of a request: its headers, and the certificate of its connection. */
export interface Credentials {
  /** All values of a header as sent, by its lowercase name. */
  values(name: string): readonly string[];
  /** Verified client certificate of the connection; absent where a connection does not identify its client. */
  readonly certificate?: X509Certificate | undefined;
  /** True when a browser may have added the credential by itself, after its user has signed in: HTTP only. */
  readonly mayBeBrowser?: boolean;
}

export type Found =
  | { readonly kind: 'principal'; readonly principal: Principal }
  /** The request has no credential of this kind. */
  | { readonly kind: 'nothing' }
  /** It has an invalid one. `why` is for the log of the node, never for the client. */
  | { readonly kind: 'refused'; readonly why: string };

export const NOTHING: Found = { kind: 'nothing' };

export interface Extractor {
  /**
   * Headers that the extractor reads, in their usual spelling: private responses vary on them. Undefined: not declared,
   * so no response may be cached.
   */
  readonly inputs: readonly string[] | undefined;
  /** Value of WWW-Authenticate that makes a browser ask its user for such a credential. */
  readonly challenge?: string;
  extract(credentials: Credentials): Found | Promise<Found>;
}

/** The identity on whose behalf a request is made. */
export interface Principal {
  /** Stable identifier, such as `key:5f0c…`. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Further attributes, for the metadata of its transactions. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly grants: readonly Grant[];
  /** Returns whether its credential is still valid: a key may be revoked, or a token expire, while a stream runs. */
  readonly holds: () => boolean;
  /** Time at which its credential expires; absent: never. */
  readonly expiresAtMs?: number | undefined;
  /** Id of its API key. */
  readonly keyId?: string | undefined;
  /** For a token: id of the principal that issued it and whose rights limit it. */
  readonly issuer?: string | undefined;
  /** True when identified by a credential that browsers add by themselves, also for pages of other sites (TH14). */
  readonly isOfBrowser?: boolean;
  /** Headers that identify it at other nodes. A function, so that printing the object shows no secret (U4). */
  readonly proof: () => Readonly<Record<string, string>>;
}
