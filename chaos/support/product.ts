/**
 * What runs when a test starts a node as a process of its own: the bundle that was built for it, or else the sources.
 */
import { resolve } from 'node:path';

/** Names the entry of a bundle; the tests set it (test/support/build-product.ts). */
export const PRODUCT_VARIABLE = 'TEST_PRODUCT';

const SOURCE = resolve(import.meta.dirname, '../../src/main/main.ts');

/** The arguments with which Node runs the command `cairn`. */
export function productArgs(): readonly string[] {
  const bundle = process.env[PRODUCT_VARIABLE];
  return bundle === undefined ? ['--conditions=source', '--disable-warning=ExperimentalWarning', SOURCE] : [bundle];
}
