// Goal: a node loads only what it needs, because each package costs every start time, and every node memory.
// Method: a process of its own imports what the command does first, and the server; then Node says what it has loaded.

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('what is loaded', () => {
  it('is no server for a command that starts none', () => {
    const packages = packagesOf('src/main/command.ts');
    for (const name of ['@grpc/grpc-js', 'fastify', 'classic-level']) expect(packages).not.toContain(name);
  });

  it('is nothing that serves clients before the core recovers', () => {
    const packages = packagesOf('src/main/serve.ts');
    expect(packages).toContain('classic-level');
    for (const name of ['@grpc/grpc-js', 'fastify']) expect(packages).not.toContain(name);
  });

  it('is nothing that only few calls need', () => {
    const packages = packagesOf('src/transport/index.ts');
    expect(packages).toContain('@grpc/grpc-js');
    expect(packages).not.toContain('@grpc/reflection');
  });
});

/** The packages of which files are loaded once the module is. */
function packagesOf(module: string): readonly string[] {
  const program = `import { createRequire } from 'node:module';
    await import('./${module}');
    console.log(JSON.stringify(Object.keys(createRequire(process.cwd() + '/').cache)));`;
  const args = ['--conditions=source', '--input-type=module', '--eval', program];
  const output = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  const files: readonly string[] = JSON.parse(output);
  const names = files.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(file)?.[1]);
  return Array.from(new Set(names.filter((name) => name !== undefined)));
}
