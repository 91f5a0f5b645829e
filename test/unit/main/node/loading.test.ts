// Goal: a node loads only what it needs, because each package costs every start time, and every node memory.
// Method: a process of its own imports what the command does first, and the server; then Node says what it has loaded.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../../../support/temp-dir.ts';

const SOURCE = new URL('../../../../src', import.meta.url).href;

it('what is loaded is no server for a command that starts none', () => {
  const packages = packagesOf('main/command.ts');
  for (const name of ['@grpc/grpc-js', 'fastify', 'classic-level']) expect(packages).not.toContain(name);
});

it('what is loaded is nothing that serves clients before the core recovers', () => {
  const packages = packagesOf('main/node/serve.ts');
  expect(packages).toContain('classic-level');
  for (const name of ['@grpc/grpc-js', 'fastify']) expect(packages).not.toContain(name);
});

it('what is loaded is for a running node neither a compiler of schemas nor a client of the web', () => {
  using directory = tempDir();
  const { packages, builtins } = loadedBy(runNode(directory.path));
  expect(packages).toContain('fastify');
  expect(packages.filter((name) => name.includes('ajv'))).toEqual([]);
  // TC4: nobody has asked by MCP.
  expect(packages.filter((name) => name.includes('modelcontextprotocol') || name === 'zod')).toEqual([]);
  expect(builtins).toContain('NativeModule http2');
  expect(builtins.filter((name) => name.includes('undici'))).toEqual([]);
});

/** Starts and stops a node, on free ports. */
function runNode(dataDir: string): string {
  const ports = ['grpc', 'http', 'mcp', 'metrics', 'peer'].map((name) => `--${name}-port=0`);
  const flags = [`--data-dir=${dataDir}`, '--bootstrap=alone', ...ports];
  return `const { readInvocation } = await import('${SOURCE}/main/settings/config.ts');
    const { startServers } = await import('${SOURCE}/main/node/servers.ts');
    const { silentLogger } = await import('${SOURCE}/observability/index.ts');
    const node = await startServers(readInvocation(${JSON.stringify(flags)}, {}).value.config, silentLogger);
    await node.drain();`;
}

interface Loaded {
  readonly packages: readonly string[];
  /** Modules of Node itself. */
  readonly builtins: readonly string[];
}

/** The packages of which files are loaded once the module is. */
function packagesOf(module: string): readonly string[] {
  return loadedBy(`await import('${SOURCE}/${module}');`).packages;
}

function loadedBy(work: string): Loaded {
  using directory = tempDir();
  const program = join(directory.path, 'program.mjs');
  writeFileSync(
    program,
    `const { createRequire, registerHooks } = process.getBuiltinModule('node:module');
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    ${work}
    const files = [...Object.keys(createRequire(import.meta.url).cache), ...urls];
    process.stdout.write(JSON.stringify({ files, builtins: process.moduleLoadList }));`,
  );
  const output = execFileSync(process.execPath, ['--conditions=source', program], { encoding: 'utf8' });
  const { files, builtins }: { files: readonly string[]; builtins: readonly string[] } = JSON.parse(output);
  const names = files.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(file)?.[1]);
  return { packages: Array.from(new Set(names.filter((name) => name !== undefined))), builtins };
}
