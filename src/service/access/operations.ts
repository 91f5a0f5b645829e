/** Requests and replies of the operations on API keys and tokens. */
import type { ApiKey, Grant } from '#model';
import type { Traced } from '#observability';

export interface ApiKeysRequest extends Traced {
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

export interface NamedKeyRequest extends ApiKeysRequest {
  /** The id in the request, not validated yet. */
  readonly id: string;
}

export interface IssueApiKeyRequest extends ApiKeysRequest {
  /** Display name; several keys may have the same. */
  readonly name: string;
  readonly grants: readonly Grant[];
  /** Absent: never expires. */
  readonly expiresAtMs?: number | undefined;
  /**
   * The id, and SHA-256 of the secret, when the client has created them, so that it can repeat the request. Absent: the
   * node creates them.
   */
  readonly made?: { readonly id: string; readonly hash: Uint8Array } | undefined;
  /** Id of the principal that issues it; set by the guard. */
  readonly issuedBy?: string | undefined;
}

/** The principal whose rights limit a token; set by the guard. */
export interface TokenIssuer {
  readonly id: string;
  /** API key that the principal has used. */
  readonly keyId?: string | undefined;
  /** Expiry of the credential that the principal has used. */
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
  /** Id of the issuer, set by the guard; absent: tokens of all issuers. */
  readonly of?: string | undefined;
}

export interface NamedTokenRequest extends TokensRequest {
  /** The id in the request, not validated yet. */
  readonly id: string;
}

export interface RotateApiKeyRequest extends NamedKeyRequest {
  /** Time for which the previous secret stays valid. Absent: a day. 0: it is replaced at once. */
  readonly overlapSeconds?: number | undefined;
  /**
   * SHA-256 of the secret, when the client has created it, so that it can repeat the request. Absent: the node creates
   * it.
   */
  readonly hash?: Uint8Array | undefined;
}

export interface RevokeApiKeyRequest extends NamedKeyRequest {
  /** The key expires then, or at its earlier expiry. Absent: it has no expiry. */
  readonly expiresAtMs?: number | undefined;
}

/** The only reply with a secret, which cannot be read again. */
export interface IssuedApiKey {
  readonly key: ApiKey;
  /** The text that clients send. Empty when the client has created the secret. */
  readonly text: string;
}
