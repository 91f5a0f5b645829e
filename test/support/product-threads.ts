/**
 * Threads of nodes that tests start in their own process run the bundle that was built for the run, as nodes that are
 * processes do (build-product.ts): a thread that loads hundreds of small modules spends most of its start on that.
 */
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import threads from 'node:worker_threads';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { THREADS } from '../../scripts/support/threads.ts';

const ROOT = new URL('../../', import.meta.url);
const BUNDLES = new Map(Object.entries(THREADS).map(([name, source]) => [new URL(source, ROOT).href, `${name}.js`]));

class ProductWorker extends threads.Worker {
  constructor(program: string | URL, options?: threads.WorkerOptions) {
    super(bundled(program) ?? program, options);
  }
}

/** The bundle of a thread of the product; undefined: it is none, or nothing was built. */
export function bundled(program: string | URL): string | undefined {
  const product = process.env[PRODUCT_VARIABLE];
  const name = BUNDLES.get(String(program));
  return product === undefined || name === undefined ? undefined : join(dirname(product), name);
}

// It is done for each file of tests, of which many run in one process.
if (threads.Worker.name !== ProductWorker.name) {
  Object.assign(threads, { Worker: ProductWorker });
  syncBuiltinESMExports();
}
