/** Publishes State Changes to a database and executes them over gRPC and HTTP. */

import {
  type CommandRequest,
  ExecuteStateChangeRequest,
  PublishStateChangeRequest,
} from '../../../proto/gen/cairn/v1/component.ts';
import { type CallOptions, failureOf, type TestClient } from '../grpc-client.ts';
import type { RunningServer } from '../server.ts';

/** Components are built, started and called, which is slow on a busy machine. */
export const SLOW: CallOptions = { deadlineMs: 60_000 };
export const JSON_TYPE = { 'content-type': 'application/json' } as const;

export interface Asked {
  readonly name: string;
  readonly path?: string;
  readonly body?: object;
}

export class Commands {
  readonly #server: RunningServer;
  readonly #databaseName: string;

  constructor(server: RunningServer, databaseName: string) {
    this.#server = server;
    this.#databaseName = databaseName;
  }

  async publish(stateChangeName: string, bytes: Uint8Array): Promise<void> {
    const request = { databaseName: this.#databaseName, stateChangeName, wasmBytes: Buffer.from(bytes) };
    await this.#server.client.send('publishStateChange', PublishStateChangeRequest.fromPartial(request), SLOW);
  }

  /** Executes a command and returns the revision of its commit. */
  async executed(asked: Asked, client: TestClient = this.#server.client, options: CallOptions = SLOW): Promise<number> {
    const databaseName = this.#databaseName;
    const named = { databaseName, stateChangeName: asked.name, version: 1, request: commandOf(asked) };
    const request = ExecuteStateChangeRequest.create(named);
    const { transaction } = await client.send('executeStateChange', request, options);
    return transaction?.revision ?? 0;
  }

  /** Code and reason over gRPC; status, code and reason over HTTP. */
  async refusalsOf(asked: Asked): Promise<readonly unknown[]> {
    const { code, info } = await failureOf(this.executed(asked));
    const { name, path = '/', body } = asked;
    const sent = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ method: 'POST', path, body }) };
    const url = `${this.#server.http}/api/v1/db/${this.#databaseName}/state-changes/${name}/v1/execute`;
    const response = await fetch(url, sent);
    const { error } = (await response.json()) as { error: { code: string; details: { reason: string } } };
    return [code, info?.metadata['reason'], response.status, error.code, error.details.reason];
  }

  async latest(): Promise<number> {
    const databaseName = this.#databaseName;
    return (await this.#server.client.send('fetchLatestDatabase', { databaseName })).database?.revision ?? 0;
  }
}

function commandOf({ path = '/', body }: Asked): CommandRequest {
  const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  return { method: 'POST', path, queryParams: [], headers: [], body: sent };
}
