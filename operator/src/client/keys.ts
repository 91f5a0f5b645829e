/** API keys of a cluster. The caller makes the id and the secret, so that a repeated call has the same outcome. */

/** What a key gives, and until when. */
export interface KeySpec {
  /** Name in the audit log. */
  readonly name: string;
  /** Such as `reader:shop`. */
  readonly roles: readonly string[];
  /** Milliseconds since the Unix epoch. Absent: it does not expire. */
  readonly expiresMs?: number | undefined;
}

export interface ApiKey extends KeySpec {
  readonly id: string;
  readonly createdMs: number;
  /** SHA-256 of the latest secret, in hexadecimal. */
  readonly sha256: string;
}

/** Two implementations: gRPC, and the simulation of test/operator. Calls reject with a `CallError`. */
export interface Keys {
  list(): Promise<readonly ApiKey[]>;
  /** Succeeds when the same key exists. ALREADY_EXISTS: the id belongs to a key that differs. */
  issue(key: KeySpec & { readonly id: string; readonly sha256: string }): Promise<void>;
  /** The key expires at a time. Succeeds when there is none. */
  expire(id: string, expiresMs: number): Promise<void>;
  /** Succeeds when there is none. */
  revoke(id: string): Promise<void>;
}
