/**
 * Runs the commands of a runbook from its page, so that tests check the commands that operators read. Blocks of `sh` in
 * the sections Fix and Verify are run in this order, each as a script of its own that ends with its first failure.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../../..');
const SECTIONS = ['Fix', 'Verify'];
const execute = promisify(execFile);

/** Runs the commands of a page in a folder. @throws Error with the output of a command that failed. */
export async function follow(page: string, cwd: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const env = { ...process.env, ...variables };
  for (const commands of commandsOf(page)) {
    const { stdout, stderr } = await execute('bash', ['-euxo', 'pipefail', '-c', commands], { cwd, env });
    process.stderr.write(`${stderr}${stdout}`);
  }
}

/** Reads the blocks of commands of a page. @throws Error when one of the sections has none. */
function commandsOf(page: string): readonly string[] {
  const sections = readFileSync(join(ROOT, page), 'utf8').split(/^## /m);
  return SECTIONS.flatMap((name) => {
    const text = sections.find((section) => section.startsWith(`${name}\n`)) ?? '';
    const blocks = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(([, block = '']) => block);
    if (blocks.length === 0) throw new Error(`${page} has no command in its section ${name}`);
    return blocks;
  });
}
