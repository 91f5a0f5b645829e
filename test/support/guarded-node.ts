/** A real node with authentication on, for the tests of one file, and the first key. */
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

/** Settings of a node that takes the first key from a file in the folder. */
export function guardedSettings(folder: string): readonly string[] {
  const file = join(folder, 'first-key');
  writeFileSync(file, `${FIRST_KEY}\n`);
  return ['--auth=on', `--auth-bootstrap-key-file=${file}`];
}

/** Runs when the promise resolves, until the last test of the file is over. Settings are those of the command line. */
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

/** An API key with these roles, which the first key has issued. */
export async function issueKey(api: HttpClient, ...roles: readonly string[]): Promise<IssuedKey> {
  const answer = await api.post('/api/v1/auth/keys', { name: 'of a test', roles }, AS_FIRST);
  if (answer.status !== 201) throw new Error(`no key was issued: ${answer.status} ${answer.text}`);
  const { id, key } = jsonOf(answer) as Pick<IssuedKey, 'id' | 'key'>;
  return { id, key, headers: { 'x-api-key': key } };
}
