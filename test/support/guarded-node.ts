/** A real node with authentication on, for the tests of one file, and the first key. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient } from './http-client.ts';
import { startTestServer, type TestServer } from './server.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile } from './test-scope.ts';

export const FIRST_KEY = 'first-key-of-the-tests-0123456789abcdef';

/** Headers of an administrator, over HTTP and gRPC. */
export const AS_FIRST: Readonly<Record<string, string>> = { 'x-api-key': FIRST_KEY };

export interface GuardedNode {
  readonly server: TestServer;
  readonly api: HttpClient;
}

/** Runs when the promise resolves, until the last test of the file is over. Settings are those of the command line. */
export async function startGuardedNode(...settings: readonly string[]): Promise<GuardedNode> {
  const dir = tempDir();
  const file = join(dir.path, 'first-key');
  writeFileSync(file, `${FIRST_KEY}\n`);
  const server = await startTestServer('--auth=on', `--auth-bootstrap-key-file=${file}`, ...settings);
  endWithFile(async () => {
    await server[Symbol.asyncDispose]();
    dir[Symbol.dispose]();
  });
  return { server, api: new HttpClient(server.http) };
}
