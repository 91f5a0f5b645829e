/** Events about files: a commit leaves one for each file that it changes. Components know no more of them than this. */

export const FILE_ADDED = 'git.file.added';
export const FILE_MODIFIED = 'git.file.modified';
export const FILE_DELETED = 'git.file.deleted';

/** Content of an event about a file. */
export interface FileChange {
  readonly path: string;
  readonly mode: string;
  readonly blob: string;
  readonly commit: string;
}
