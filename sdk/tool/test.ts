/** `cairn test`: builds a project, and runs its tests with Node's test runner and the sources of the server. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { readArguments } from './arguments.ts';
import { buildProject } from './build.ts';
import { ToolError } from './failures.ts';
import { projectIn } from './project.ts';

export async function test(args: readonly string[], base: string, say: (text: string) => void): Promise<void> {
  const { subject = '.' } = readArguments(args, []);
  const project = projectIn(resolve(base, subject));
  await buildProject(project, base, say);
  // The kit loads the server from its sources.
  const ran = spawnSync(process.execPath, ['--conditions=source', '--test'], { cwd: project.folder, stdio: 'inherit' });
  if (ran.status !== 0) throw new ToolError('Tests have failed; they are above');
}
