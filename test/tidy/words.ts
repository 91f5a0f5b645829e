/** Rules about single lines: forbidden words and forbidden calls. */
import { type Fault, faultyLines, sources, type Tree, tests, under } from './tree.ts';

// The rules and their tests contain the forbidden words.
const OWN_FILES = /^test\/(?:tidy|unit\/house)\//;
const CODE = /\.(?:ts|mjs|cjs|proto)$|^\.ci\//;

/** A note about unfinished work names the number of its issue. */
export function leftoversNameAnIssue(tree: Tree): readonly Fault[] {
  return faultyLines(
    under(others(tree), CODE),
    /\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/,
    'name the issue, as in TODO(#12)',
  );
}

/** No test is disabled or runs alone. A test is skipped only when a tool is missing, in CI only when a compiler is. */
export function noTestIsLeftOut(tree: Tree): readonly Fault[] {
  const pattern =
    /\b(?:it|test|describe|suite|bench)(?:\.\w+)*\.(?:only|skip|skipIf(?!\(lacks(?:Tool|Compiler)\()|runIf|todo|fails)\b|\b(?:xit|xdescribe|fit|fdescribe)\(/;
  return faultyLines(tests(others(tree)), pattern, 'every test runs');
}

/** A rule of the linter or compiler is disabled only with a reason, and never for a whole file. */
export function exceptionsHaveReasons(tree: Tree): readonly Fault[] {
  const code = under(others(tree), CODE);
  return [
    ...faultyLines(code, /@ts-(?:ignore|nocheck)|@ts-expect-error\s*$/, 'say why, with @ts-expect-error'),
    ...faultyLines(code, /(?:oxlint|eslint)-disable(?!-(?:next-)?line)/, 'switch a rule off for one line only'),
    ...faultyLines(code, /(?:oxlint|eslint)-disable-(?:next-)?line(?!.* -- \S)/, 'say why, behind " -- "'),
    ...faultyLines(code, /biome-ignore(?!.*: \S)/, 'say why, behind ": "'),
  ];
}

/** No text names a path of the machine where it was written, or a host that only its authors can reach. */
export function noPrivatePlaces(tree: Tree): readonly Fault[] {
  const written = others(tree);
  return [
    ...faultyLines(written, /(?<![\w.~}-])\/(?:work|home|Users|root)\/\w/, 'a path of one machine'),
    ...faultyLines(written, /\.\.\/shared\//, 'a folder outside the repository'),
    ...faultyLines(written, /\bdecisions,? \d+(?:\.\d+)?[);]/, 'a document outside the repository'),
    ...faultyLines(written, /registry\.(?:npmjs|yarnpkg)\.\w+|"resolved": "https?:/, 'a host of a package registry'),
  ];
}

/** Calls that have a better alternative. */
export function noBannedCalls(tree: Tree): readonly Fault[] {
  // Apart from main, one function ends the process after a fatal error; it receives such errors from every thread.
  const endsProcess = (path: string): boolean =>
    path.startsWith('src/main/') || path === 'operator/src/main.ts' || path === 'src/cluster/front/fatal.ts';
  const outsideMain = new Map([...sources(tree)].filter(([path]) => !endsProcess(path)));
  // The harness that emulates Kubernetes needs real time for leases, probes and grace periods.
  const isPlayed = (path: string): boolean => path.startsWith('test/kubernetes/') && !path.endsWith('.test.ts');
  const ownTests = new Map([...tests(others(tree))].filter(([path]) => !isPlayed(path)));
  return [
    ...faultyLines(outsideMain, /\bprocess\.exit\(/, 'only main ends the process; throw, or report a fatal error'),
    ...faultyLines(outsideMain, /\bprocess\.(?:env|argv)\b/, 'settings are read once, in main'),
    ...faultyLines(ownTests, /timers\/promises|=> setTimeout\(/, 'a test waits for an event, not for time'),
    ...faultyLines(ownTests, /\bMath\.random\(/, 'a test draws from a seed, so that a failure can be repeated'),
  ];
}

/** Folders whose comments are in plain words. Add a folder when its comments are. */
const PLAIN =
  /^(?:scripts|sdk|chaos|bench|examples|test\/(?:support|simulation|model|chaos|property|spec|kubernetes|charts|image|operator|unit\/\w+)|operator\/src|src\/(?!database\/rebuild|storage\/)\w+)\/.*\.[jt]s$/;

/** Comments name the actor, use the standard terms, and begin with a noun or a verb. */
export function commentsArePlain(tree: Tree): readonly Fault[] {
  const written = under(others(tree), PLAIN);
  return [
    ...faultyLines(
      written,
      /^\s*(?:\/?\*|\/\/).*\b(?:[Ww]hoever|[Ss]omebody|(?:is|are) told|goes on|gone on with|makes? way|in vain|heirs?)\b/,
      'name the actor and use the standard term',
    ),
    ...faultyLines(written, /^\s*(?:\/\*\*|\*|\/\/) (?:Of|What|Who|Whom|Those) /, 'begin with a noun or a verb'),
  ];
}

/** Names of tests say which subject does what, in the standard terms. */
export function testNamesArePlain(tree: Tree): readonly Fault[] {
  return faultyLines(
    tests(others(tree)),
    /^\s*(?:it|test|describe)\b.*['"`].*\b(?:[Ww]hoever|[Ss]omebody|[Nn]obody|(?:is|are) told|goes on|makes? way|in vain|anew)\b/,
    'name the actor and use the standard term',
  );
}

/** No message and no page advises to empty a directory that holds data: it is moved away. */
export function noDataIsEmptied(tree: Tree): readonly Fault[] {
  const advising = under(others(tree), /^(?:src|operator|charts|docs(?!\/adr))\//);
  return faultyLines(advising, /\bempty (?:the|its|this|that|a) (?:data )?(?:directory|volume)/i, 'move it away');
}

function others(tree: Tree): Tree {
  return new Map(
    [...tree].filter(([path]) => !OWN_FILES.test(path) && path !== 'package-lock.json' && !path.includes('/gen/')),
  );
}
