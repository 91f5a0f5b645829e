// Goal: pages cannot point to what is not there. Method: pages of a few lines.
import { describe, expect, it } from 'vitest';
import { adrRow } from '../../scripts/support/adr-index.ts';
import { withBlock } from '../../scripts/support/generated-block.ts';
import {
  commandsExist,
  generatedPageIsFresh,
  generatedPartIsFresh,
  linksLeadSomewhere,
  pagesHaveOneTitle,
  readmeIsShort,
} from './pages.ts';
import { treeOf } from './tree.ts';

const BLOCK = '<!-- begin generated: list -->\nold\n<!-- end generated: list -->';

describe('generatedPartIsFresh', () => {
  const part = { page: 'docs/a.md', block: 'list', content: 'new' };

  it('finds a stale block, and passes it once it is rewritten', () => {
    const page = `# A\n${BLOCK}\nend\n`;
    expect(generatedPartIsFresh(treeOf({ 'docs/a.md': page }), part)).toHaveLength(1);
    expect(generatedPartIsFresh(treeOf({ 'docs/a.md': withBlock(page, 'list', 'new') }), part)).toEqual([]);
  });

  it.each([
    ['page', {}],
    ['block', { 'docs/a.md': '# A\n' }],
    ['single block', { 'docs/a.md': `${BLOCK}\n${BLOCK}` }],
  ])('finds a missing %s', (_what, files) => {
    expect(generatedPartIsFresh(treeOf(files), part)).toHaveLength(1);
  });
});

describe('generatedPageIsFresh', () => {
  it('finds a page that differs or is missing', () => {
    const page = { path: 'docs/a.md', content: '# A\n' };
    expect(generatedPageIsFresh(treeOf({ 'docs/a.md': '# A\n' }), page)).toEqual([]);
    expect(generatedPageIsFresh(treeOf({ 'docs/a.md': '# A \n' }), page)).toHaveLength(1);
    expect(generatedPageIsFresh(treeOf({}), page)).toHaveLength(1);
  });
});

describe('withBlock', () => {
  it('keeps what stands around the block', () => {
    const begin = '<!-- begin generated: list -->';
    expect(withBlock(`a\n${BLOCK}\nz`, 'list', 'new')).toBe(`a\n${begin}\nnew\n<!-- end generated: list -->\nz`);
  });

  it('refuses a page without the block', () => {
    expect(() => withBlock('a', 'list', 'new')).toThrow('begin generated: list');
  });
});

describe('linksLeadSomewhere', () => {
  const tree = (link: string): ReadonlyMap<string, string> =>
    treeOf({ 'docs/a.md': `[x](${link})`, 'docs/adr/0001-a.md': '', 'README.md': '' });

  it.each(['adr/0001-a.md', 'adr', 'adr/', '../README.md', '../README.md#top', '#here', 'https://a.example/b'])(
    'passes %s',
    (link) => {
      expect(linksLeadSomewhere(tree(link))).toEqual([]);
    },
  );

  it.each(['adr/0002-b.md', 'README.md', '../docs/b.md#top'])('finds %s', (link) => {
    expect(linksLeadSomewhere(tree(link))).toHaveLength(1);
  });

  it('does not read code as links', () => {
    expect(linksLeadSomewhere(treeOf({ 'a.md': '`[a](b)`\n```\n[a](b)\n```\n' }))).toEqual([]);
  });
});

describe('commandsExist', () => {
  const manifest = '{\n  "scripts": {\n    "check": "x",\n    "proto:fresh": "y"\n  }\n}';

  it('finds a script and a command that do not exist', () => {
    const tree = treeOf({ 'package.json': manifest, 'a.md': 'Run `npm run chek`, then\nnpm strat' });
    expect(commandsExist(tree)).toHaveLength(2);
  });

  it('passes what exists', () => {
    const tree = treeOf({
      'package.json': manifest,
      'a.md': '`npm run -s proto:fresh`, `npm test`, npm run check. npm sorts',
    });
    expect(commandsExist(tree)).toEqual([]);
  });
});

describe('pagesHaveOneTitle', () => {
  it.each(['text\n# A\n', '# A\n# B\n', ''])('finds the fault of %j', (text) => {
    expect(pagesHaveOneTitle(treeOf({ 'docs/a.md': text }))).toHaveLength(1);
  });

  it('takes a comment of a shell for no title', () => {
    expect(pagesHaveOneTitle(treeOf({ 'docs/a.md': '# A\n```sh\n# note\n```\n' }))).toEqual([]);
  });
});

describe('readmeIsShort', () => {
  it('finds line 151', () => {
    expect(readmeIsShort(treeOf({ 'README.md': 'x\n'.repeat(151) }))).toHaveLength(1);
    expect(readmeIsShort(treeOf({ 'README.md': 'x\n'.repeat(150) }))).toEqual([]);
  });
});

describe('decisions', () => {
  it('need a title with their number, and a status', () => {
    expect(adrRow('0002-b.md', '# 0002. B\n\nStatus: accepted\n')).toBe('| 0002 | [B](0002-b.md) | accepted |');
    expect(() => adrRow('0002-b.md', '# 0003. B\n\nStatus: accepted\n')).toThrow('# 0002. Title');
    expect(() => adrRow('0002-b.md', '# 0002. B\n')).toThrow('Status: accepted');
  });
});
