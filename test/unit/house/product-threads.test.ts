// Goal: threads of nodes in tests run what was built for the run, and all others what they name. Method: the class that
// every thread is made of here, and the files that it leads to.
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { CORE_WORKER } from '../../../src/main/core-worker-url.ts';
import { bundled } from '../../support/product-threads.ts';

describe('a thread of a test', () => {
  it('runs the bundle of the product where it is one of those', () => {
    expect(Worker.name).toBe('ProductWorker');
    const bundle = bundled(CORE_WORKER) ?? '';
    expect(bundle).toMatch(/dist\/core-worker\.js$/);
    expect(existsSync(bundle)).toBe(true);
  });

  it('runs what it is told to otherwise', () => {
    const support = new URL('../../support/level-reader-worker.ts', import.meta.url);
    expect(bundled(support)).toBeUndefined();
    expect(bundled('process.exit()')).toBeUndefined();
  });
});
