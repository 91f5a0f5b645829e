/** On whose behalf a request is made. */
import type { Grant } from '#model';

export interface Principal {
  /** The same for as long as it is the same somebody, such as `key:5f0c…`. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  /** What is known of it besides, for the metadata of its transactions. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly grants: readonly Grant[];
  /** Whether what it was identified by still counts: a key may be revoked, and a token expire, while a stream runs. */
  readonly holds: () => boolean;
  /** When what it was identified by expires; absent: not by itself. */
  readonly expiresAtMs?: number | undefined;
  /** The id of the API key that it has shown. */
  readonly keyId?: string | undefined;
  /** Of whoever has shown a token: the id of the principal that has issued it, whose rights these are. */
  readonly issuer?: string | undefined;
  /** Whether it is known by what a browser sends on its own: pages of others can have it send that, too (TH14). */
  readonly isOfBrowser?: boolean;
  /** The headers by which it is identified, for other nodes that are asked on its behalf. A function: see U4. */
  readonly proof: () => Readonly<Record<string, string>>;
}
