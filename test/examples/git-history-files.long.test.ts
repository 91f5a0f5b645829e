// Goal: on a node, the files of an imported repository are a page for a browser and CSV for a program, whatever they
// are called: page by page at one revision, and in chunks as they are made. Method: a repository with hostile names
// that git makes; git ls-tree is the oracle; readers of HTML and of CSV that are written here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../../examples/git-history/api.ts';
import { readTree } from '../../examples/git-history/git-log.ts';
import { importRepository } from '../../examples/git-history/import.ts';
import { BUILD_MS, ExampleNode } from '../support/example-node.ts';
import { GitRepository } from '../support/git-repository.ts';

const HOSTILE = [
  '<script>alert(1)<',
  '"onmouseover="alert(2)',
  "' onclick='alert(3)",
  '</table><h1>x<',
  '&lt;b&gt;&amp;',
  '=cmd|calc!A1',
  '+1',
  '-1',
  '@SUM(1)',
  'a,b;c',
  'line\nbreak',
  'carriage\rreturn',
  '\tTab',
  'gpj.\u202Eexe',
  '名前 ünïcode 👩‍💻',
  '__proto__',
  'javascript:alert(4)',
];
const MORE = 230;
const OFFERS = ['text/html; charset=utf-8', 'text/csv; charset=utf-8; header=present'];
const VIEW = '/state-views/files';

const repository = new GitRepository();
let node: ExampleNode;

beforeAll(async () => {
  for (const name of HOSTILE) repository.write(name, name);
  repository.writeBytes(Buffer.from('caf\xe9.txt', 'latin1'), 'x');
  for (let n = 0; n < MORE; n++) repository.write(`many/${n}`, String(n));
  repository.write('gone', 'x').commit({ message: 'all' });
  repository.write('+1', 'again').remove('gone').commit({ message: 'changed', author: 'Bob' });
  node = await ExampleNode.start('history', '--guest-executors=1');
  const events = ['git.file.added', 'git.file.modified', 'git.file.deleted'];
  await node.publish('presenters', { presenter_name: 'listing', content_types: OFFERS }, 'git-history/listing.ts');
  const view = { content_type: 'application/json', query_temporality: 'revision', presenter: 'listing', events };
  await node.publish('state-views', { ...view, state_view_name: 'files' }, 'git-history/files.ts');
  await imported();
}, BUILD_MS);
afterAll(async () => {
  repository[Symbol.dispose]();
  await node[Symbol.asyncDispose]();
});

async function imported(): Promise<number> {
  using api = new Api(node.server.grpc);
  const source = { repository: repository.dir, stream: 'made', database: 'history' };
  return (await importRepository(api, source, { write: () => true })).revision;
}

async function present(path: string, accept: string): Promise<{ readonly answer: Response; readonly text: string }> {
  const answer = await node.get(path, { accept });
  return { answer, text: await answer.text() };
}

/** The tags that a page has; its text and attributes hold what was committed. */
const TAGS = [
  /^<!doctype html>$|^<\/?(?:html|head|title|style|body|h1|p|code|table|tr|th|td|a)>$/,
  /^<html lang="en">$|^<meta charset="utf-8">$|^<meta http-equiv="Content-Security-Policy" content="default-src [^"<>]+">$/,
  /^<td title="[0-9a-f]{40}">$|^<a rel="next" href="\/api\/v1\/db\/history\/\d+\/state-views\/files\/v1\?[^"<>]+">$/,
];

/** The first cell of each row; an error for a tag that no page has. */
function pathsIn(html: string): readonly string[] {
  for (const [tag] of html.matchAll(/<[^>]*>?/g)) {
    if (!TAGS.some((known) => known.test(tag))) throw new Error(`The page has a tag ${tag}`);
  }
  return Array.from(html.matchAll(/<tr><td title="[^"]*">([^<]*)</g), ([, cell = '']) => unescaped(cell));
}

function unescaped(text: string): string {
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return text
    .replaceAll(/\\u\{([0-9a-f]+)\}/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&([^;]*);/g, (_, name: string) => entities[name] ?? `no entity: ${name}`);
}

describe('the files of a repository', { timeout: 120_000 }, () => {
  it('are pages for a browser, one behind the other at one revision, with every name as text', async () => {
    const head = await readTree(repository.dir, 'HEAD');
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const found: string[] = [];
    let path: string | undefined = `/databases/history${VIEW}`;
    for (let pages = 1; path !== undefined; pages++) {
      const { answer, text } = await present(path, accept);
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('x-revision')]).toEqual([
        200,
        'text/html; charset=utf-8',
        '2',
      ]);
      found.push(...pathsIn(text));
      const inHead = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
      const inBody = /rel="next" href="(.*?)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      expect(inBody).toBe(inHead);
      path = inHead;
      expect(pages).toBeLessThanOrEqual(3);
      // The history goes on, and the list does not.
      if (pages === 1) await node.commit({ id: 'x', type: 'git.file.added', source: '/git/made', data: { path: 'x' } });
    }
    expect(found.toSorted()).toEqual([...head.keys()].toSorted());
    expect(new Set(found)).toContain('"caf\\351.txt"');
    expect(found).not.toContain('gone');
  });
});
