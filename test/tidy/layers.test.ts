// Goal: each rule about layers finds what it forbids and passes what it allows. Method: trees of a few lines.
import { describe, expect, it } from 'vitest';
import { layersHaveDoors, modulesHaveHeaders, noExportStar, threadsStayInTheirLayer } from './layers.ts';
import { treeOf } from './tree.ts';

const header = (lines: number): string => `/**\n${' * About.\n'.repeat(lines - 2)} */\nexport {};\n`;

describe('layersHaveDoors', () => {
  it('passes a layer whose door has a header of 10 to 30 lines, and main with its entry', () => {
    const tree = treeOf({
      'src/raft/index.ts': header(10),
      'src/kv/index.ts': header(30),
      'src/main/main.ts': header(12),
    });
    expect(layersHaveDoors(tree)).toEqual([]);
  });

  it('finds a layer without a door', () => {
    expect(layersHaveDoors(treeOf({ 'src/raft/log.ts': header(12) }))).toEqual([
      'src/raft/index.ts: the layer has no door',
    ]);
  });

  it.each([9, 31])('finds a header of %d lines', (lines) => {
    expect(layersHaveDoors(treeOf({ 'src/raft/index.ts': header(lines) }))).toHaveLength(1);
  });

  it('does not ask for a door where there is only generated code', () => {
    expect(layersHaveDoors(treeOf({ 'src/transport/grpc/gen/a.ts': 'export {};' }))).toEqual([]);
  });
});

describe('modulesHaveHeaders', () => {
  it('passes a header, also below a shebang', () => {
    const tree = treeOf({ 'src/a/b.ts': '/** B. */\n', 'src/a/c.ts': '#!/usr/bin/env node\n/** C. */\n' });
    expect(modulesHaveHeaders(tree)).toEqual([]);
  });

  it('passes a module whose only export is introduced', () => {
    const text = "import { b } from './b.ts';\n\n/** Does a. */\nexport function a() {}\n";
    expect(modulesHaveHeaders(treeOf({ 'src/a/b.ts': text }))).toEqual([]);
  });

  it.each([
    ['begins with code', 'export {};\n/** Late. */\n'],
    ['introduces one export of two', '/* */\n/** A. */\nexport const a = 1;\nexport const b = 2;\n'],
  ])('finds a module that %s', (_how, text) => {
    expect(modulesHaveHeaders(treeOf({ 'src/a/b.ts': text }))).toHaveLength(1);
  });
});

describe('noExportStar', () => {
  it.each(["export * from './a.ts';", "export * as a from './a.ts';", "export type * from './a.ts';"])(
    'finds %s',
    (line) => {
      expect(noExportStar(treeOf({ 'src/a/index.ts': line }))).toHaveLength(1);
    },
  );

  it('passes named exports', () => {
    expect(noExportStar(treeOf({ 'src/a/index.ts': "export { a } from './a.ts';" }))).toEqual([]);
  });
});

describe('threadsStayInTheirLayer', () => {
  it('finds a thread that starts in another folder', () => {
    const text = "new Worker(new URL('../storage/log-worker.ts', import.meta.url));";
    expect(threadsStayInTheirLayer(treeOf({ 'src/cluster/a.ts': text }))).toHaveLength(1);
  });

  it('passes a thread beside it', () => {
    const text = "new Worker(new URL('./log-worker.ts', import.meta.url));";
    expect(threadsStayInTheirLayer(treeOf({ 'src/storage/a.ts': text }))).toEqual([]);
  });
});
