/**
 * What runs when a test starts a node as a process of its own: the bundle that was built for it, or else the sources.
 */
import { resolve } from 'node:path';

/** Names the entry of a bundle; the tests set it (test/support/build-product.ts). */
export const PRODUCT_VARIABLE = 'TEST_PRODUCT';

const SOURCE = resolve(import.meta.dirname, '../../src/main/main.ts');

/** The arguments with which Node runs the command `cairn`, of this bundle if there is another one. */
export function productArgs(bundle: string | undefined = process.env[PRODUCT_VARIABLE]): readonly string[] {
  return bundle === undefined ? ['--conditions=source', '--disable-warning=ExperimentalWarning', SOURCE] : [bundle];
}
