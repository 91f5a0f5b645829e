// A server with the API of S3, in memory: moto of PyPI. It answers one request after the other, because its check of a
// condition and the creation that follows are two steps.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithFile } from '../test-scope.ts';

/** Where .ci/run installs it. Another installation serves, too. */
const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
export const PYTHONPATH: string = join(cache, 'cairn', 'moto-5.2.5');

const PROGRAM = `
from werkzeug.serving import make_server
from moto.server import DomainDispatcherApplication, create_backend_app
server = make_server('127.0.0.1', 0, DomainDispatcherApplication(create_backend_app))
print(server.port, flush=True)
server.serve_forever()
`;

/** Starts it with a bucket, until the end of the file. @returns its URL */
export async function startS3(bucket: string): Promise<string> {
  const env = { ...process.env, PYTHONPATH };
  const child = spawn('python3', ['-c', PROGRAM], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  endWithFile(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const [port] = await once(createInterface(child.stdout), 'line');
  const url = `http://127.0.0.1:${port}`;
  await fetch(`${url}/${bucket}`, { method: 'PUT' });
  return url;
}

/** Lets clients of S3 in this process use the service at the URL, until the end of the file. */
export function useS3(url: string): void {
  const set = {
    AWS_ENDPOINT_URL_S3: url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_MAX_ATTEMPTS: '1',
  };
  const before = { ...process.env };
  Object.assign(process.env, set);
  endWithFile(() => {
    for (const name of Object.keys(set)) {
      const { [name]: value } = before;
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}
