/** One way of finding out who asks. */
import type { X509Certificate } from 'node:crypto';
import type { Principal } from './principal.ts';

/** The headers of a request. */
export interface Credentials {
  /** Every value of a header as it was sent, by its lowercase name. */
  values(name: string): readonly string[];
  /** What the client has shown in the handshake, and is valid; absent where a connection says nothing of its client. */
  readonly certificate?: X509Certificate | undefined;
  /** Whether a browser may have sent it, which does so on its own once its user has signed in: over HTTP. */
  readonly mayBeBrowser?: boolean;
}

export type Found =
  | { readonly kind: 'principal'; readonly principal: Principal }
  /** The request has no credential of this kind. */
  | { readonly kind: 'nothing' }
  /** It has one, which is not valid. `why` is for the log of the node, never for who asks. */
  | { readonly kind: 'refused'; readonly why: string };

export interface Extractor {
  /**
   * The headers that it looks at, as they are usually spelled: answers that are private vary on them. Undefined: it
   * does not say, so that no answer may be kept by anybody.
   */
  readonly inputs: readonly string[] | undefined;
  /** What has a browser ask its user for such a credential (WWW-Authenticate); absent: nothing does. */
  readonly challenge?: string;
  extract(credentials: Credentials): Found | Promise<Found>;
}
