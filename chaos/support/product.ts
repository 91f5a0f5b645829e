/** Chooses the code that tests run as a separate node process: the bundle built for the tests, or else the sources. */
import { resolve } from 'node:path';

/** Environment variable with the entry of a bundle; the tests set it (test/support/build-product.ts). */
export const PRODUCT_VARIABLE = 'TEST_PRODUCT';

const SOURCE = resolve(import.meta.dirname, '../../src/main/main.ts');

/** Arguments with which Node.js runs the command `cairn`, from this bundle or from the default one. */
export function productArgs(bundle: string | undefined = process.env[PRODUCT_VARIABLE]): readonly string[] {
  return bundle === undefined ? ['--conditions=source', '--disable-warning=ExperimentalWarning', SOURCE] : [bundle];
}
