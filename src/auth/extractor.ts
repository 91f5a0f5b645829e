/** An extractor identifies the client of a request by one kind of credential. */
import type { X509Certificate } from 'node:crypto';
import type { Principal } from './principal.ts';

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
