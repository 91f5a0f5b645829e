// Makes threads of in-process nodes run the bundle that was built for the test run, as separate processes do
// (build-product.ts): loading hundreds of small modules would take most of a thread's start.
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

/** Path of the bundle for a thread of the product; undefined for other threads, or without a bundle. */
export function bundled(program: string | URL): string | undefined {
  const product = process.env[PRODUCT_VARIABLE];
  if (product === undefined || !(program instanceof URL) || !program.href.startsWith(SOURCES)) return undefined;
  const bundle = join(dirname(product), `${basename(fileURLToPath(program), '.ts')}.js`);
  if (!existsSync(bundle)) throw new Error(`${program.href} has no bundle: its line is missing in scripts/bundle.ts`);
  return bundle;
}

// This module runs for each test file, and many files share a process; the class is replaced once.
if (threads.Worker.name !== ProductWorker.name) {
  Object.assign(threads, { Worker: ProductWorker });
  syncBuiltinESMExports();
}
