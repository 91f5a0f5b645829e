/** The database of a repository, where none is named: no two repositories have the same. */

const NAME_CHARACTERS_MAX = 63;
const HASH_CHARACTERS = 8;

/** Lowercase letters, digits and hyphens of the folder's name, and the beginning of the root commit's hash. */
export function databaseNameOf(folder: string, rootCommit: string): string {
  const readable = folder.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const cut = readable.replace(/^-/, '').slice(0, NAME_CHARACTERS_MAX - HASH_CHARACTERS - 1);
  const parts = [cut.replace(/-$/, ''), rootCommit.slice(0, HASH_CHARACTERS)];
  return parts.filter((part) => part !== '').join('-');
}
