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

/** At the second port, one of 40 requests is refused, and the answer to another one is lost; listings are stale. */
const PROGRAM = `
import random, threading, time
from werkzeug.serving import make_server
from werkzeug.wrappers import Response
from moto.server import DomainDispatcherApplication, create_backend_app

app = DomainDispatcherApplication(create_backend_app)
draw = random.Random(33)
listings = {}

def failing(environ, start_response):
    fault = draw.randrange(40)
    if fault == 0:
        return Response('', 503)(environ, start_response)
    if fault < 4:
        time.sleep(0.3)
    answer = Response.from_app(app, environ, buffered=True)
    if fault == 4:
        answer = Response('', 503)
    query = environ['QUERY_STRING']
    if 'list-type' in query and answer.status_code == 200:
        earlier = listings.get(query, answer)
        listings[query] = answer
        answer = earlier
    return answer(environ, start_response)

servers = [make_server('127.0.0.1', 0, each) for each in (app, failing)]
print(servers[0].port, servers[1].port, flush=True)
threading.Thread(target=servers[1].serve_forever, daemon=True).start()
servers[0].serve_forever()
`;

export interface S3Server {
  readonly url: string;
  /** The same buckets. Some calls fail, before or after they are carried out, or are slow, and listings are stale. */
  readonly failingUrl: string;
}

/** Starts it with a bucket, until the end of the file. Only one of both URLs may be used to create objects. */
export async function startS3(bucket: string): Promise<S3Server> {
  const env = { ...process.env, PYTHONPATH };
  const child = spawn('python3', ['-c', PROGRAM], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  endWithFile(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const [line]: string[] = await once(createInterface(child.stdout), 'line');
  const [url = '', failingUrl = ''] = (line ?? '').split(' ').map((port) => `http://127.0.0.1:${port}`);
  await fetch(`${url}/${bucket}`, { method: 'PUT' });
  return { url, failingUrl };
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
