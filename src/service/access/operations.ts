/** Requests and replies of the operations on API keys and tokens. */
import type { ApiKey, Grant } from '#model';
import type { Traced } from '#observability';

export interface ApiKeysRequest extends Traced {
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

export interface NamedKeyRequest extends ApiKeysRequest {
  /** As it was asked for. */
  readonly id: string;
}

export interface IssueApiKeyRequest extends ApiKeysRequest {
  /** For people; keys may have the same. */
  readonly name: string;
  readonly grants: readonly Grant[];
  /** Absent: it does not expire. */
  readonly expiresAtMs?: number | undefined;
  /**
   * The id, and SHA-256 of the secret, where the caller has made them, so that it can repeat the request. Absent: the
   * node makes them.
   */
  readonly made?: { readonly id: string; readonly hash: Uint8Array } | undefined;
  /** The id of the principal that asks; its guard writes it. */
  readonly issuedBy?: string | undefined;
}

/** Whose rights a token has; its guard writes it. */
export interface TokenIssuer {
  /** Of the principal. */
  readonly id: string;
  /** The API key that it has shown. */
  readonly keyId?: string | undefined;
  /** When what it has shown expires. */
  readonly expiresAtMs?: number | undefined;
}

export interface IssueTokenRequest extends ApiKeysRequest {
  readonly name: string;
  readonly grants: readonly Grant[];
  /** 1 to 3,600. */
  readonly lifeSeconds: number;
  readonly issuer?: TokenIssuer | undefined;
}

export interface TokensRequest extends ApiKeysRequest {
  /** The id of the principal that has issued them, which its guard writes; absent: whoever has. */
  readonly of?: string | undefined;
}

export interface NamedTokenRequest extends TokensRequest {
  /** As it was asked for. */
  readonly id: string;
}

export interface RotateApiKeyRequest extends NamedKeyRequest {
  /** How long the previous secret stays valid. Absent: a day. 0: it is replaced at once. */
  readonly overlapSeconds?: number | undefined;
  /** SHA-256 of the secret, where the caller has made it, so that it can repeat the request. Absent: the node does. */
  readonly hash?: Uint8Array | undefined;
}

export interface RevokeApiKeyRequest extends NamedKeyRequest {
  /** The key expires then, unless it expires before. Absent: it is removed. */
  readonly expiresAtMs?: number | undefined;
}

/** The only reply that has a secret: it cannot be read again. */
export interface IssuedApiKey {
  readonly key: ApiKey;
  /** The text that its holder sends. Empty: the caller has made the secret. */
  readonly text: string;
}
