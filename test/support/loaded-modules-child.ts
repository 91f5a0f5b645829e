// Runs a node in a child process, which answers one request, stops, and prints the URLs of the modules that its main
// thread has loaded.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const loaded = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    loaded.add(url);
    return next(url, context);
  },
});

const { silentLogger } = await import('#observability');
const { readInvocation } = await import('../../src/main/settings/config.ts');
const { startServers } = await import('../../src/main/node/servers.ts');

const dir = mkdtempSync(join(tmpdir(), 'cairn-loaded-'));
try {
  const ports = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--shutdown-grace-ms=1000'];
  const small = ['--wal-segment-bytes=4MiB', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];
  const settings = [`--data-dir=${dir}`, '--bootstrap=alone', ...ports, ...small, ...process.argv.slice(2)];
  const read = readInvocation(settings, {});
  if (read.kind === 'failure' || read.value.kind !== 'run') throw new Error('these settings start no node');
  const running = await startServers(read.value.config, silentLogger);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ database_name: 'shop' });
  const answer = await fetch(`${running.addresses.http}/api/v1/db`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(await answer.text());
  await running.drain();
  // CommonJS modules are listed here.
  const others = Object.keys(createRequire(import.meta.url).cache);
  process.stdout.write(JSON.stringify([...loaded, ...others]));
} finally {
  rmSync(dir, { recursive: true, force: true });
}
