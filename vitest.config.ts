import { globSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type ViteUserConfig, type ViteUserConfigFnObject } from 'vitest/config';
import { ProfileReporter } from './test/support/profile-reporter.ts';

// `#layer` imports resolve to the sources, in the test files and in what else a test starts, but for nodes and their
// threads, which are bundles (test/support/build-product.ts, test/support/product-threads.ts).
const SOURCE = 'source';

/** Clauses of the specification, whose files share servers: a cluster of three, and in a mode of its own one node. */
const CLAUSES = 'test/spec/';

/** The modes of `npm run test:all`, which alone runs the files that take long. */
const ALL = 'all';
const ON_ONE_NODE = 'one-node';
const LONG = '.long.test.ts';

type Project = NonNullable<NonNullable<ViteUserConfig['test']>['projects']>[number];

function projects(mode: string): Project[] {
  const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname });
  const included = mode === ALL ? files : files.filter((path) => !path.endsWith(LONG));
  const clauses: Project = {
    extends: true,
    test: {
      name: 'clauses',
      // A list of what is not included would stand in the place of the one that a command line gives.
      include: included.filter((path) => path.startsWith(CLAUSES)),
      // Behind the others, some of which look at the clock: the servers run until the last file is over.
      sequence: { groupOrder: 1 },
      provide: { isClustered: mode !== ON_ONE_NODE },
    },
  };
  if (mode === ON_ONE_NODE) return [clauses];
  const others = included.filter((path) => !path.startsWith(CLAUSES));
  return [{ extends: true, test: { name: 'others', include: others } }, clauses];
}

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => ({
  resolve: { conditions: [SOURCE] },
  ssr: { resolve: { conditions: [SOURCE] } },
  test: {
    // Its package has TypeScript under the condition by which ours are found, which Node strips in no package.
    server: { deps: { inline: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client', 'eventsource'] } },
    reporters: ['default', new ProfileReporter(), ...report()],
    globalSetup: ['test/support/temp-root.ts', 'test/support/build-product.ts'],
    setupFiles: ['test/support/file-scope.ts', 'test/support/property-seed.ts', 'test/support/product-threads.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    // A process for each of six hundred files would take a third of the time, to load the same packages again and
    // again. So what a file starts it ends, and what it changes of its process it puts back.
    isolate: false,
    execArgv: [`--conditions=${SOURCE}`],
    // A process that a test starts need not compile again what one before it has compiled.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile'),
      ...(mode === ALL ? { TEST_LONG: '1' } : {}),
    },
    // For what hangs. A test takes seconds at most, but may share its processor with other work.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    expect: { poll: { timeout: 50_000 } },
    passWithNoTests: false,
    allowOnly: false,
    projects: projects(mode),
  },
}));

/** A report that another program reads, where the environment says. */
function report(): ['json', { outputFile: string }][] {
  const { TEST_REPORT: outputFile } = process.env;
  return outputFile === undefined ? [] : [['json', { outputFile }]];
}

export default config;
