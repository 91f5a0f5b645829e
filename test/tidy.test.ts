// Goal: the house rules that no linter knows hold for this repository. Method: each rule is a function from the tree of
// files to its faults; here it meets the real tree, and in test/tidy/*.test.ts a fixture that breaks it.
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#base';
import { COUNTERS, GAUGES, HISTOGRAMS } from '#observability';
import { generatedPages, generatedParts } from '../scripts/support/generated-pages.ts';
import { clausesAreClosed } from './tidy/clauses.ts';
import {
  commentsAreNarrow,
  filesAreShort,
  lockFileIsWhole,
  testsFitAScreen,
  unitTestsMirrorLayers,
  versionsArePinned,
} from './tidy/files.ts';
import { invariantNumbersAreUnique, invariantsAreTested } from './tidy/invariants.ts';
import { layersHaveDoors, modulesHaveHeaders, noExportStar, threadsStayInTheirLayer } from './tidy/layers.ts';
import { errorCodesAreTested, errorPageIsComplete, metricPageIsComplete, metricsAreFed } from './tidy/lists.ts';
import {
  citedDecisionsExist,
  commandsExist,
  decisionNumbersAreUnique,
  generatedPageIsFresh,
  generatedPartIsFresh,
  linksLeadSomewhere,
  pagesHaveOneTitle,
  readmeIsShort,
} from './tidy/pages.ts';
import { type Rule, readTree } from './tidy/tree.ts';
import {
  commentsArePlain,
  exceptionsHaveReasons,
  leftoversNameAnIssue,
  noBannedCalls,
  noDataIsEmptied,
  noPrivatePlaces,
  noTestIsLeftOut,
  testNamesArePlain,
} from './tidy/words.ts';

const root = resolve(import.meta.dirname, '..');
const tree = readTree(root);

const METRICS = Object.keys({ ...COUNTERS, ...GAUGES, ...HISTOGRAMS });

const RULES: Readonly<Record<string, Rule>> = {
  'every layer has a door with a header': layersHaveDoors,
  'every module has a header': modulesHaveHeaders,
  'no door exports everything': noExportStar,
  'threads start in their own layer': threadsStayInTheirLayer,
  'invariant numbers are unique': invariantNumbersAreUnique,
  'every invariant is cited by a test': invariantsAreTested,
  'docs/errors.md lists the error codes': (files) => errorPageIsComplete(files, ERROR_CODES),
  'every error code is in a test': (files) => errorCodesAreTested(files, ERROR_CODES),
  'docs/metrics.md lists the metrics': (files) => metricPageIsComplete(files, METRICS),
  'every metric is fed': (files) => metricsAreFed(files, METRICS),
  'the table of clauses is closed': clausesAreClosed,
  'leftovers name an issue': leftoversNameAnIssue,
  'no test is left out': noTestIsLeftOut,
  'exceptions have reasons': exceptionsHaveReasons,
  'no private places': noPrivatePlaces,
  'no banned calls': noBannedCalls,
  'files are short': filesAreShort,
  'tests fit a screen': testsFitAScreen,
  'comments are narrow': commentsAreNarrow,
  'comments are in plain words': commentsArePlain,
  'names of tests are in plain words': testNamesArePlain,
  'no advice is to empty a directory': noDataIsEmptied,
  'unit tests mirror the layers': unitTestsMirrorLayers,
  'the lock file is whole': lockFileIsWhole,
  'versions are pinned': versionsArePinned,
  'links lead somewhere': linksLeadSomewhere,
  'commands exist': commandsExist,
  'pages have one title': pagesHaveOneTitle,
  'decisions have their own numbers': decisionNumbersAreUnique,
  'cited decisions exist': citedDecisionsExist,
  'README is short': readmeIsShort,
};

describe('the repository', () => {
  it.each(Object.entries(RULES))('keeps the rule: %s', (_name, rule) => {
    expect(rule(tree)).toEqual([]);
  });

  it('has fresh generated pages in its docs', () => {
    expect(generatedPages(root).flatMap((page) => generatedPageIsFresh(tree, page))).toEqual([]);
  });

  // The picture of the layers is held by npm run layers, which reads every import anyway.
  it('has fresh generated parts in its docs', () => {
    expect(generatedParts(root).flatMap((part) => generatedPartIsFresh(tree, part))).toEqual([]);
  });
});
