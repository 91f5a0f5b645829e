// Threads of nodes that tests start in their own process run the bundle that was built for the run, as nodes that are
// processes do (build-product.ts): a thread that loads hundreds of small modules spends most of its start on that.
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import threads from 'node:worker_threads';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';

const SOURCES = new URL('../../src/', import.meta.url).href;

class ProductWorker extends threads.Worker {
  constructor(program: string | URL, options?: threads.WorkerOptions) {
    super(bundled(program) ?? program, options);
  }
}

/** The bundle of a thread of the product; undefined: it is none, or nothing was built. */
export function bundled(program: string | URL): string | undefined {
  const product = process.env[PRODUCT_VARIABLE];
  if (product === undefined || !(program instanceof URL) || !program.href.startsWith(SOURCES)) return undefined;
  const bundle = join(dirname(product), `${basename(fileURLToPath(program), '.ts')}.js`);
  if (!existsSync(bundle)) throw new Error(`${program.href} has no bundle: its line is missing in scripts/bundle.ts`);
  return bundle;
}

// It is done for each file of tests, of which many run in one process.
if (threads.Worker.name !== ProductWorker.name) {
  Object.assign(threads, { Worker: ProductWorker });
  syncBuiltinESMExports();
}
