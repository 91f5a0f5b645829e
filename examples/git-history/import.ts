/** Imports a repository commit by commit, in order; starting it again goes on where it was cut off. */
import type { Api } from './api.ts';
import { transactionsOf } from './commit-events.ts';
import { countCommits, readCommits } from './git-log.ts';
import { Progress, type ProgressOutput } from './progress.ts';

export interface ImportSummary {
  readonly commits: number;
  readonly events: number;
  readonly revision: number;
}

export async function importRepository(
  api: Pick<Api, 'ensureDatabase' | 'transact' | 'latestRevision'>,
  source: { readonly repository: string; readonly stream: string; readonly database: string },
  output: ProgressOutput,
): Promise<ImportSummary> {
  // First of all: where there is no repository, no database is made.
  const commitCount = await countCommits(source.repository);
  await api.ensureDatabase(source.database);
  const progress = new Progress(output, commitCount, performance.now());
  const done = { commits: 0, events: 0 };
  for await (const commit of readCommits(source.repository)) {
    for (const request of transactionsOf(commit, source)) await api.transact(request);
    done.commits += 1;
    done.events += commit.changes.length;
    progress.show(done, performance.now());
  }
  return { ...done, revision: await api.latestRevision(source.database) };
}
