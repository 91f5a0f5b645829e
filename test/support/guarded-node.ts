/** A real node with authentication for the tests of one file, and its first API key. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient, jsonOf } from './http-client.ts';
import { type RunningServer, startTestServer } from './server.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile } from './test-scope.ts';

export const FIRST_KEY = 'first-key-of-the-tests-0123456789abcdef';

/** Headers of an administrator, over HTTP and gRPC. */
export const AS_FIRST: Readonly<Record<string, string>> = { 'x-api-key': FIRST_KEY };

export interface GuardedNode {
  readonly server: RunningServer;
  readonly api: HttpClient;
}

/** Settings of a node that reads the first key from a file in the folder. */
export function guardedSettings(folder: string): readonly string[] {
  const file = join(folder, 'first-key');
  writeFileSync(file, `${FIRST_KEY}\n`);
  return ['--auth=on', `--auth-bootstrap-key-file=${file}`];
}

/** Starts a node that runs until the last test of the file has ended. `settings` are command-line options. */
export async function startGuardedNode(...settings: readonly string[]): Promise<GuardedNode> {
  const dir = tempDir();
  const server = await startTestServer(...guardedSettings(dir.path), ...settings);
  endWithFile(async () => {
    await server[Symbol.asyncDispose]();
    dir[Symbol.dispose]();
  });
  return { server, api: new HttpClient(server.http) };
}

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly headers: Readonly<Record<'x-api-key', string>>;
}

/** Creates an API key with these roles, using the first key. */
export async function issueKey(api: HttpClient, ...roles: readonly string[]): Promise<IssuedKey> {
  const answer = await api.post('/api/v1/auth/keys', { name: 'of a test', roles }, AS_FIRST);
  if (answer.status !== 201) throw new Error(`no key was issued: ${answer.status} ${answer.text}`);
  const { id, key } = jsonOf(answer) as Pick<IssuedKey, 'id' | 'key'>;
  return { id, key, headers: { 'x-api-key': key } };
}
