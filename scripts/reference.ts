/** npm run reference: writes the pages of docs/ that are generated from tables in src. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { REFERENCE_PAGES } from './support/reference-pages.ts';

for (const page of REFERENCE_PAGES) writeFileSync(resolve(import.meta.dirname, '..', page.path), page.render());
