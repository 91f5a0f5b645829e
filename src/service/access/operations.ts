/** Requests and replies of the operations on API keys. */
import type { ApiKey, Grant } from '#model';

export interface ApiKeysRequest {
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
  /** The id of the principal that asks; its guard writes it. */
  readonly issuedBy?: string | undefined;
}

export interface RotateApiKeyRequest extends NamedKeyRequest {
  /** How long the secret of before counts on; 0: it does not. */
  readonly overlapMs: number;
}

/** The only reply that has a secret: it cannot be read again. */
export interface IssuedApiKey {
  readonly key: ApiKey;
  /** What its holder sends. */
  readonly text: string;
}
