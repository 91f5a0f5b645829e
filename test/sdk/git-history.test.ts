// Goal: the example of a git history lists and presents its files. Method: scenarios of the test kit, over plain code;
// test/examples/git-history-files.long.test.ts has hostile names on a node.
import { describe, it } from 'vitest';
import { FILE_ADDED, FILE_DELETED, FILE_MODIFIED } from '../../examples/git-history/file-change.ts';
import { component as files } from '../../examples/git-history/files.ts';
import { component as listing } from '../../examples/git-history/listing.ts';
import type { Json, NewEvent } from '../../sdk/component/src/index.ts';
import { plainPresenter, plainView } from '../../sdk/component/testing/plain.ts';
import { presenter, view } from '../../sdk/component/testing/scenario.ts';

const CSV = 'text/csv; charset=utf-8';
const HEAD = 'path,mode,blob,commit,authored,revision\r\n';
const AUTHORED = '2026-01-01T00:00:00Z';

function changed(type: string, path: string, blob: string): NewEvent {
  const data = { path, mode: '100644', blob, commit: `of-${blob}` };
  return { source: '/git/x', type, subject: path, time: AUTHORED, data };
}

function listed(path: string, blob: string, revision: number): Json {
  const rest = { mode: '100644', blob, commit: `of-${blob}`, authored: AUTHORED, revision };
  return { path, ...rest };
}

describe('the files of a git history', () => {
  const list = (): ReturnType<typeof presenter> => presenter(plainPresenter(listing));

  it('are those that no commit has deleted, each with its last content', async () => {
    await view(plainView(files))
      .given(
        changed(FILE_ADDED, 'src/z', '1'),
        changed(FILE_ADDED, '__proto__', '2'),
        changed(FILE_ADDED, 'gone', '3'),
        changed(FILE_MODIFIED, 'src/z', '4'),
        changed(FILE_DELETED, 'gone', '3'),
      )
      .thenState([listed('__proto__', '2', 2), listed('src/z', '4', 4)]);
  });

  it('are rows of CSV, below a folder where that is asked for', async () => {
    const given = list().given([listed('=1+1', 'a', 1), listed('src/a, "b"\n', 'b', 2)]);
    const rows = [`./=1+1,100644,a,of-a,${AUTHORED},1\r\n`, `"./src/a, ""b""\n",100644,b,of-b,${AUTHORED},2\r\n`];
    await given.when({ contentType: CSV }).thenWrites(HEAD + rows.join(''));
    await given.when({ contentType: CSV, parameters: { prefix: 'src/' } }).thenWrites(`${HEAD}${rows[1]}`);
    await list().given([]).when({ contentType: CSV }).thenWrites(HEAD);
  });
});
