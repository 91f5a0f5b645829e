/**
 * Builds the product from the sources: a bundle for each thread of a node, for the processes that run guests, and for
 * the operator, in one folder.
 *
 *   node scripts/bundle.ts <folder>      scripts/bootstrap.mjs then replaces dist by the folder
 *
 * A thread that loads hundreds of small modules spends most of its start on that
 * (docs/adr/0001-node-24-and-bundles.md). So each bundle has only the modules that its thread uses. Modules that are
 * loaded later, by `import()`, are separate files. Packages stay in node_modules: some locate their files relative to
 * their own, and one is native code.
 *
 * Nothing is minified or renamed, so that logs name functions and classes as the sources do. The source maps beside the
 * bundles lead to the sources (src/observability/source-places.ts).
 */
import { spawnSync } from 'node:child_process';
import { cpSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type OutputChunk, rolldown, type TreeshakingOptions } from 'rolldown';

/** The entry file of each thread, and its source. Threads refer to each other's files, so the names are fixed. */
const THREADS: Readonly<Record<string, string>> = {
  main: 'src/main/main.ts',
  'core-worker': 'src/main/node/core-worker.ts',
  'batch-worker': 'src/main/node/batch-worker.ts',
  'archive-worker': 'src/main/archive/archive-worker.ts',
  'log-worker': 'src/storage/log-worker.ts',
  'scrub-worker': 'src/cluster/front/scrub-worker.ts',
  'executor-worker': 'src/wasm/executors/executor-worker.ts',
  operator: 'operator/src/main.ts',
};
/** Matches the file name of a thread where the sources start it. */
const STARTED = /["'`]\.\/([\w-]+-worker)\.js["'`]/g;

/** The server uses the generated messages and not the generated clients, so it does not load their library. */
const UNUSED_CLIENTS: TreeshakingOptions = {
  moduleSideEffects: [{ test: /^@grpc\/grpc-js$/, sideEffects: false }],
  manualPureFunctions: ['makeGenericClientConstructor'],
};

const root = resolve(import.meta.dirname, '..');
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Usage: node scripts/bundle.ts <folder>');

const chunks: OutputChunk[] = [];
for (const [thread, source] of Object.entries(THREADS)) chunks.push(...(await bundle(thread, source, resolve(folder))));
const started = chunks.flatMap(({ code }) => [...code.matchAll(STARTED)].map(([, name = '']) => name));
// Assets of the HTML pages are read from beside the bundle, as from beside their source.
cpSync(join(root, 'src/ui/html/assets'), join(resolve(folder), 'assets'), {
  recursive: true,
  filter: (file) => !file.endsWith('.json'),
});
const missing = started.filter((name) => !(name in THREADS));
if (missing.length > 0) throw new Error(`Threads are started that are not built: ${[...new Set(missing)].join(', ')}`);
writeFileSync(join(resolve(folder), 'commit'), `${commit()}\n`);

/** The commit of the sources, for the label of a metric; `unknown` outside of a checkout, unless set. */
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
    treeshake: UNUSED_CLIENTS,
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
