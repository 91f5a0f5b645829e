/** A State View: the files of the history at a revision, each with what changed it last. */
import { defineStateView, mapCodec, type StateViewComponent, type StoredEvent } from '../../sdk/component/src/index.ts';
import { FILE_DELETED, type FileChange } from './file-change.ts';

/** A file as it is rendered; in a list of all of them, by their paths. */
export interface ListedFile {
  readonly path: string;
  readonly mode: string;
  readonly blob: string;
  /** The last commit that changed it, when that was written, and in which revision it is. */
  readonly commit: string;
  readonly authored: string;
  readonly revision: number;
}

type FileEvent = StoredEvent<string, FileChange>;
type Files = Map<string, Omit<ListedFile, 'path'>>;

export const component: StateViewComponent<Files, FileEvent> = defineStateView<Files, FileEvent>({
  initialState: () => new Map(),
  codec: mapCodec(),
  evolve(files, { type, data, time, recordedtime, revision }) {
    const { path, mode, blob, commit } = data;
    if (type === FILE_DELETED) files.delete(path);
    else files.set(path, { mode, blob, commit, authored: time ?? recordedtime, revision });
    return files;
  },
  render: (files) =>
    [...files].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([path, file]) => ({ path, ...file })),
});
