/** API keys of a cluster. The caller makes the id and the secret, so that a repeated call has the same outcome. */
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import type { Timestamp } from '../../../proto/gen/google/protobuf/timestamp.ts';
import { ChannelClient, unlessNotFound } from './channel.ts';

/** A key to issue. The caller makes its id and its secret. */
export interface NewKey {
  readonly id: string;
  /** SHA-256 of the latest secret, in hexadecimal. */
  readonly sha256: string;
  readonly name: string;
  /** Such as `reader:shop`. */
  readonly roles: readonly string[];
  /** Milliseconds since the Unix epoch. Absent: it does not expire. */
  readonly expiresMs?: number | undefined;
}

export interface ApiKey extends NewKey {
  readonly createdMs: number;
}

/** The public methods of the client. The simulation of test/operator has them, too. Calls reject with a `CallError`. */
export type Keys = Pick<GrpcKeys, keyof GrpcKeys>;

export class GrpcKeys extends ChannelClient {
  async list(): Promise<readonly ApiKey[]> {
    const { apiKeys } = await this.channel.call(EventStoreService.listApiKeys, {});
    return apiKeys.map(({ id, name, roles, createdAt, expiresAt, secrets }) => ({
      id,
      name,
      roles,
      createdMs: msOf(createdAt) ?? 0,
      expiresMs: msOf(expiresAt),
      sha256: secrets[0]?.sha256.toString('hex') ?? '',
    }));
  }

  /** Succeeds when the same key exists. ALREADY_EXISTS: the id belongs to a key that differs. */
  async issue({ expiresMs, sha256, ...rest }: NewKey): Promise<void> {
    const request = { ...rest, expiresAt: timestampOf(expiresMs), secretSha256: Buffer.from(sha256, 'hex') };
    await this.channel.call(EventStoreService.issueApiKey, request);
  }

  /** Ends the key at a time, or now. Succeeds when there is none. */
  async revoke(id: string, expiresMs?: number): Promise<void> {
    const request = { id, expiresAt: timestampOf(expiresMs) };
    await this.channel.call(EventStoreService.revokeApiKey, request).catch(unlessNotFound);
  }
}

function timestampOf(ms: number | undefined): Timestamp | undefined {
  if (ms === undefined) return undefined;
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
}

function msOf(at: Timestamp | undefined): number | undefined {
  return at && at.seconds * 1000 + Math.floor(at.nanos / 1_000_000);
}
