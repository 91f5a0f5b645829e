/** A principal: the identity on whose behalf a request is made. */
import type { Grant } from '#model';

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
