/** Which commit a benchmark measures: results are read long after it. */
import { spawnSync } from 'node:child_process';

/** Its short hash and subject, and whether the checkout differs from it. */
export function commitLine(root: string): string {
  const said = git(root, 'log', '-1', '--format=%h "%s", %cs');
  if (said === undefined) return 'of no git checkout';
  const isChanged = git(root, 'status', '--porcelain', '--untracked-files=no') !== '';
  return `${said}${isChanged ? ', with changes that are not committed' : ''}`;
}

/** What git prints; undefined when it fails. */
function git(root: string, ...args: readonly string[]): string | undefined {
  const done = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : undefined;
}
