/**
 * Makes the product out of the sources: for each thread of a node, for the processes that run guests, and for the
 * operator, one bundle, in one folder.
 *
 *   node scripts/bundle.ts <folder>      a folder beside dist, which becomes it; scripts/bootstrap.mjs does that
 *
 * A thread that loads hundreds of small modules spends most of its start on that
 * (docs/adr/0001-node-24-and-bundles.md). Each has a bundle of its own, so that it loads what it uses and nothing
 * else. What is loaded later, by `import()`, is a file of its own.
 * Packages stay outside, in node_modules: some find their files by their own place, and one is machine code.
 *
 * Nothing is minified, and no name is changed: what a node logs names functions and classes as the sources do. The maps
 * beside the bundles lead from a place in them to the source (src/observability/source-places.ts).
 */
import { spawnSync } from 'node:child_process';
import { cpSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';

/**
 * The file that a thread starts by, and its source. Threads name each other's files, so these are no matter of taste.
 */
const THREADS: Readonly<Record<string, string>> = {
  main: 'src/main/main.ts',
  'core-worker': 'src/main/core-worker.ts',
  'batch-worker': 'src/main/batch-worker.ts',
  'log-worker': 'src/storage/log-worker.ts',
  'scrub-worker': 'src/storage/scrub-worker.ts',
  'executor-worker': 'src/wasm/executors/executor-worker.ts',
  operator: 'operator/src/main.ts',
};
/** How the sources name the file of a thread that they start. */
const STARTED = /["'`]\.\/([\w-]+-worker)\.js["'`]/g;

const root = resolve(import.meta.dirname, '..');
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Usage: node scripts/bundle.ts <folder>');

const chunks: OutputChunk[] = [];
for (const [thread, source] of Object.entries(THREADS)) chunks.push(...(await bundle(thread, source, resolve(folder))));
const started = chunks.flatMap(({ code }) => [...code.matchAll(STARTED)].map(([, name = '']) => name));
// What the pages of HTML load is read from beside the bundle, as it is from beside its source.
cpSync(join(root, 'src/ui/html/assets'), join(resolve(folder), 'assets'), {
  recursive: true,
  filter: (file) => !file.endsWith('.json'),
});
const missing = started.filter((name) => !(name in THREADS));
if (missing.length > 0) throw new Error(`Threads are started that are not built: ${[...new Set(missing)].join(', ')}`);
writeFileSync(join(resolve(folder), 'commit'), `${commit()}\n`);

/** The commit of the sources, for the label of a metric; `unknown` where they are no checkout and nothing names it. */
function commit(): string {
  const { SOURCE_COMMIT: named } = process.env;
  if (named !== undefined) return named;
  if (git('rev-parse', '--show-toplevel') !== realpathSync(root)) return 'unknown';
  const isChanged = git('status', '--porcelain', '--', 'src', 'operator/src', 'proto', 'package-lock.json') !== '';
  return `${git('rev-parse', '--short=12', 'HEAD')}${isChanged ? '+changes' : ''}`;
}

function git(...words: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

async function bundle(thread: string, source: string, dir: string): Promise<readonly OutputChunk[]> {
  await using bundled = await rolldown({
    cwd: root,
    input: { [thread]: join(root, source) },
    platform: 'node',
    // Types are erased, as when Node runs the sources; nothing else of the language is translated.
    tsconfig: false,
    resolve: { conditionNames: ['source'] },
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('#'),
    onLog: (level, log, report) => report(level === 'warn' ? 'error' : level, log),
  });
  const { output } = await bundled.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${thread}-[name].js`,
    minify: false,
    keepNames: true,
    sourcemap: true,
    // They name the sources and need not contain them.
    sourcemapExcludeSources: true,
  });
  return output.filter((part) => part.type === 'chunk');
}
