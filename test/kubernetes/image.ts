// The image of the bundle that the tests run, as an archive, which a test owns.
import { dirname, join, resolve } from 'node:path';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { writeArchive } from '../../scripts/image/archive.ts';
import { imageOf } from '../../scripts/image/image.ts';
import { testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
/** Hardly any, which would take most of the time. */
const COMPRESSION = 1;

/** Writes the archive for a test; its path. */
export async function imageArchive(): Promise<string> {
  const archive = join(testDir(), 'cairn.tar');
  const { layers, config } = imageOf(ROOT, { dist: DIST });
  await writeArchive(archive, layers, config, COMPRESSION);
  return archive;
}
