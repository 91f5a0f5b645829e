/**
 * Which commits an earlier import has left in the database, so that the next one need not repeat them.
 *
 * Parents are imported before their children, and whole. So a commit of which there is anything has all its ancestors
 * there, whichever branch was imported when; the commit itself may have been cut off.
 */
import type { Api } from './api.ts';
import { commitOf, transactionIdOf } from './commit-events.ts';

/**
 * A commit that changes no file leaves no transaction, nor does one that is new: then its parents are looked up, up to
 * a limit. A transaction that is sent again needlessly gets its recorded result.
 */
const ASKED_MAX = 64;

export interface Place {
  readonly database: string;
  readonly stream: string;
  /** How many transactions the database has. */
  readonly revision: number;
}

/** Commits that are there as a whole, `head` and its ancestors being asked about; of the others some may be, too. */
export async function importedCommits(
  api: Pick<Api, 'transactionAt' | 'hasTransaction'>,
  { database, stream, revision }: Place,
  { head, parents }: { readonly head: string; readonly parents: ReadonlyMap<string, readonly string[]> },
): Promise<ReadonlySet<string>> {
  const imported = new Set<string>();
  if (revision === 0) return imported;
  const latest = commitOf(await api.transactionAt(database, revision));
  if (latest !== undefined) addAncestors(imported, latest, parents);
  const asked = new Set(latest === undefined ? [] : [latest]);
  const next = [head];
  for (const commit of next) {
    if (asked.size > ASKED_MAX) break;
    if (asked.has(commit) || imported.has(commit)) continue;
    asked.add(commit);
    if (await api.hasTransaction(database, transactionIdOf(stream, commit, 0))) addAncestors(imported, commit, parents);
    else next.push(...(parents.get(commit) ?? []));
  }
  return imported;
}

function addAncestors(found: Set<string>, commit: string, parents: ReadonlyMap<string, readonly string[]>): void {
  const next = [...(parents.get(commit) ?? [])];
  for (let ancestor = next.pop(); ancestor !== undefined; ancestor = next.pop()) {
    if (found.has(ancestor)) continue;
    found.add(ancestor);
    next.push(...(parents.get(ancestor) ?? []));
  }
}
