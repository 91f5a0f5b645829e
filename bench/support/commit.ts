/** Identifies the commit that a benchmark measures, for results that are read long afterwards. */
import { spawnSync } from 'node:child_process';

/** Short hash and subject of the commit, and whether the checkout has uncommitted changes. */
export function commitLine(root: string): string {
  const said = git(root, 'log', '-1', '--format=%h "%s", %cs');
  if (said === undefined) return 'of no git checkout';
  const isChanged = git(root, 'status', '--porcelain', '--untracked-files=no') !== '';
  return `${said}${isChanged ? ', with changes that are not committed' : ''}`;
}

/** Output of git; undefined when it fails. */
function git(root: string, ...args: readonly string[]): string | undefined {
  const done = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : undefined;
}
