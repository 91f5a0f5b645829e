/**
 * Imports a repository commit by commit, in order. A second start continues after the last imported commit. A database
 * has one repository, which the commit of its first transaction identifies.
 */
import type { Api, TransactRequest } from './api.ts';
import { commitOf, transactionsOf } from './commit-events.ts';
import { readAncestry, readCommits } from './git-log.ts';
import { importedCommits } from './imported.ts';
import { Progress, type ProgressOutput } from './progress.ts';

export interface ImportSummary {
  readonly commits: number;
  /** Number of commits that changed no file, and so have no transaction. */
  readonly empty: number;
  readonly events: number;
  readonly revision: number;
}

/** The part of the API that an import needs. */
export type ImportApi = Pick<
  Api,
  'ensureDatabase' | 'transact' | 'transactionAt' | 'hasTransaction' | 'latestRevision'
>;

/** Throws when the database holds something else; then nothing is written. */
export async function importRepository(
  api: ImportApi,
  source: { readonly repository: string; readonly stream: string; readonly database: string },
  output: ProgressOutput,
): Promise<ImportSummary> {
  // First of all: where there is no repository, no database is made.
  const ancestry = await readAncestry(source.repository);
  await api.ensureDatabase(source.database);
  const revision = await api.latestRevision(source.database);
  const began = await beginningOf(api, source.database, revision);
  const imported = await importedCommits(api, { ...source, revision }, ancestry);
  const progress = new Progress(output, ancestry.parents.size, performance.now());
  const done = { commits: 0, empty: 0, events: 0 };
  let written = 0;
  for await (const commit of readCommits(source.repository)) {
    const eventCount = commit.changes.length;
    if (done.events === 0 && eventCount > 0) refuseOther(source, began, commit.hash);
    if (!imported.has(commit.hash)) written += await transactAll(api, transactionsOf(commit, source), commit.hash);
    done.commits += 1;
    done.empty += eventCount === 0 ? 1 : 0;
    done.events += eventCount;
    progress.show({ ...done, written }, performance.now());
  }
  return { ...done, revision: await api.latestRevision(source.database) };
}

/** A commit that the node does not take: the cause says why. */
export class RefusedCommit extends Error {
  readonly commit: string;

  constructor(commit: string, cause: unknown) {
    super(`The commit ${commit} was not imported: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.commit = commit;
  }
}

/** How many events were written: none by a transaction that was there before. */
async function transactAll(
  api: Pick<Api, 'transact'>,
  requests: readonly TransactRequest[],
  commit: string,
): Promise<number> {
  let written = 0;
  try {
    for (const request of requests) {
      const { replayed, eventCount } = await api.transact(request);
      if (!replayed) written += eventCount;
    }
    return written;
  } catch (error) {
    throw new RefusedCommit(commit, error);
  }
}

/**
 * The commit that a database begins with, empty when its first transaction is of none; undefined: it has no
 * transaction.
 */
async function beginningOf(
  api: Pick<Api, 'transactionAt'>,
  database: string,
  revision: number,
): Promise<string | undefined> {
  if (revision === 0) return undefined;
  return commitOf(await api.transactionAt(database, 1)) ?? '';
}

function refuseOther(
  { repository, database }: { readonly repository: string; readonly database: string },
  began: string | undefined,
  firstCommit: string,
): void {
  if (began === undefined || began === firstCommit) return;
  const beginning = began === '' ? 'no commit' : `the commit ${began}`;
  throw new Error(
    `The database ${database} holds something else: it begins with ${beginning}, and ${repository} with ${firstCommit}. ` +
      'Leave --database out, which gives the repository a database of its own, or name another one.',
  );
}
