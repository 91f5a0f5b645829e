// Goal: size, place and versions of files are held. Method: trees with one fault each.
import { describe, expect, it } from 'vitest';
import { withPlatforms } from '../../scripts/support/lock-platforms.ts';
import {
  commentsAreNarrow,
  filesAreShort,
  lockFileIsWhole,
  testsFitAScreen,
  unitTestsMirrorLayers,
  versionsArePinned,
} from './files.ts';
import { treeOf } from './tree.ts';

describe('filesAreShort', () => {
  it.each(['src/a/b.ts', 'scripts/b.mjs', 'test/b.test.ts', 'bench/b.ts', 'chaos/b.ts'])(
    'finds %s beyond 500 lines',
    (path) => {
      expect(filesAreShort(treeOf({ [path]: 'x\n'.repeat(500) }))).toEqual([]);
      expect(filesAreShort(treeOf({ [path]: 'x\n'.repeat(501) }))).toHaveLength(1);
    },
  );

  it('leaves generated code alone', () => {
    expect(filesAreShort(treeOf({ 'src/transport/grpc/gen/a.ts': 'x\n'.repeat(900) }))).toEqual([]);
  });
});

describe('testsFitAScreen', () => {
  const faults = (begin: string, end: string, lines: number): number => {
    const text = `describe('it', () => {\n${begin}\n${'    work();\n'.repeat(lines - 2)}${end}\n});\n`;
    return testsFitAScreen(treeOf({ 'test/a.test.ts': text })).length;
  };

  it.each([
    ["  it('works', async () => {", '  });'],
    ["  it('works (C1)', { timeout: 1 }, async () => {", '  });'],
    ["  it.each(CASES)('%s', (one) => {", '  });'],
    ["  it('works', {", '  });'],
    ['  it(', '  );'],
    ['  async function work(one: number): Promise<void> {', '  }'],
    ['  const work = (one: number): number => {', '  };'],
  ])('finds one beyond 70 lines that begins with %s', (begin, end) => {
    expect(faults(begin, end, 70)).toBe(0);
    expect(faults(begin, end, 71)).toBe(1);
  });
});

describe('commentsAreNarrow', () => {
  const words = (columns: number): string => 'word '.repeat(columns / 5);
  const faults = (text: string): number => commentsAreNarrow(treeOf({ 'src/a/b.ts': text })).length;

  it.each(['// ', ' * ', '/** '])('finds a long line of a comment that begins with %s', (begin) => {
    expect(faults(`${begin}${words(115)}\n`)).toBe(0);
    expect(faults(`${begin}${words(125)}\n`)).toBe(1);
  });

  it('leaves drawings, tables and commands as they are', () => {
    expect(faults(` * \`\`\`\n * ${words(125)}\n * \`\`\`\n`)).toBe(0);
    expect(faults(` * a ──> ${words(125)}\n`)).toBe(0);
    expect(faults(` *   npm run bench -- ${words(125)}\n`)).toBe(0);
    expect(faults(`const text = '${words(125)}';\n`)).toBe(0);
  });
});

describe('unitTestsMirrorLayers', () => {
  it('finds a folder that is no layer', () => {
    const tree = { 'src/raft/a.ts': '', 'test/unit/raft/a.test.ts': '', 'test/unit/house/a.test.ts': '' };
    expect(unitTestsMirrorLayers(treeOf(tree))).toEqual([]);
    expect(unitTestsMirrorLayers(treeOf({ ...tree, 'test/unit/craft/a.test.ts': '' }))).toHaveLength(1);
  });
});

describe('lockFileIsWhole', () => {
  const optionalDependencies = { 'tool-linux-x64-musl': '1.2.3', 'tool-linux-aarch64': '1.2.3' };
  const packages = {
    '': {},
    'node_modules/tool': { version: '1.2.3', dev: true, optionalDependencies },
    'node_modules/tool-linux-aarch64': { version: '1.2.3', optional: true },
  };

  it('finds the package of a platform that is missing, and passes once it is added', () => {
    const tree = (lock: object): ReadonlyMap<string, string> => treeOf({ 'package-lock.json': JSON.stringify(lock) });
    expect(lockFileIsWhole(tree({ packages }))).toHaveLength(1);
    expect(lockFileIsWhole(tree({ packages: withPlatforms(packages) }))).toEqual([]);
  });

  it('writes the platform into what it adds, so that npm skips it elsewhere', () => {
    expect(withPlatforms(packages)['node_modules/tool-linux-x64-musl']).toEqual({
      version: '1.2.3',
      cpu: ['x64'],
      dev: true,
      libc: ['musl'],
      optional: true,
      os: ['linux'],
    });
  });

  it('accepts a package that is nested below its parent', () => {
    const nested = {
      'node_modules/a/node_modules/tool': { optionalDependencies: { 'x-win32-x64': '1.0.0' } },
      'node_modules/a/node_modules/x-win32-x64': { version: '1.0.0' },
    };
    expect(withPlatforms(nested)).toEqual(nested);
  });

  it('refuses to guess when a missing package does not name its platform', () => {
    expect(() => withPlatforms({ 'node_modules/a': { optionalDependencies: { b: '1.0.0' } } })).toThrow('b@1.0.0');
  });
});

describe('versionsArePinned', () => {
  it('finds a range', () => {
    const devDependencies = { b: '^1.2.3', c: '1.2.3-alpha.12', d: '^1.2.3-alpha.1', e: '1.2.3 - 2.0.0' };
    const manifest = { dependencies: { a: '1.2.3' }, devDependencies };
    expect(versionsArePinned(treeOf({ 'package.json': JSON.stringify(manifest) }))).toEqual([
      'package.json: b ^1.2.3 is not pinned',
      'package.json: d ^1.2.3-alpha.1 is not pinned',
      'package.json: e 1.2.3 - 2.0.0 is not pinned',
    ]);
  });
});
