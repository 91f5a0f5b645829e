import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defineConfig, type ViteUserConfig, type ViteUserConfigFnObject } from 'vitest/config';
import { ProfileReporter } from './test/support/profile-reporter.ts';

// `#layer` imports resolve to the sources, in the test files and in what else a test starts, but for nodes and their
// threads, which are bundles (test/support/build-product.ts, test/support/product-threads.ts).
const SOURCE = 'source';

/**
 * The clauses of the specification run on a cluster of three that hold every database, where each protocol is spoken by
 * another of them (test/support/server-cluster.ts), and in a mode of its own on one node. On clusters there are not
 * these, each of which docs/spec/README.md tells with what it alone shows (test/tidy/clauses.ts):
 */
const OF_ONE_NODE: readonly string[] = [
  // They start clusters of their own, with roles for each node.
  'api-keys-on-every-node',
  'client-certificates',
  'components-on-every-node',
  'grpc-require-leader',
  'http-cluster',
  'maintained-views',
  'mcp-cluster',
  'tags-before-folds',
  'tls-between-nodes',
  'tls-peers',
  'tokens-of-agents',
  // They look at one process: what it has written, and the certificate of its ports, which is each node's own.
  'secrets',
  'tls',
  // Budgets, quarantines, executors, sessions and spans that were gathered are each node's own.
  'command-failures',
  'component-traces',
  'mcp-metrics',
  'quarantined-components',
  'rate-limits',
  'traces',
  // What it is told stands in the settings of one node.
  'mcp-authorization',
  // They take long, and show in a browser, or by the protocol's suite, what other files compare on clusters.
  'http-html-browser',
  'mcp-conformance',
];

/** The modes of `npm run test:all`, which alone runs the files that take long. */
const ALL = 'all';
const ON_ONE_NODE = 'one-node';
const LONG = '.long.test.ts';

const isClause = (path: string): boolean =>
  path.startsWith('test/spec/') && !OF_ONE_NODE.includes(basename(path, path.endsWith(LONG) ? LONG : '.test.ts'));

type Project = NonNullable<NonNullable<ViteUserConfig['test']>['projects']>[number];

function projects(mode: string): Project[] {
  const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname });
  const included = mode === ALL ? files : files.filter((path) => !path.endsWith(LONG));
  const clauses = included.filter(isClause);
  if (mode === ON_ONE_NODE) return [{ extends: true, test: { name: ON_ONE_NODE, include: clauses } }];
  const node: Project = {
    extends: true,
    test: {
      name: 'node',
      // A list of what is not included would stand in the place of the one that a command line gives.
      include: included.filter((path) => !isClause(path)),
      sequence: { groupOrder: 0 },
    },
  };
  const cluster: Project = {
    extends: true,
    test: {
      name: 'cluster',
      include: clauses,
      // Behind the others, some of which look at the clock.
      sequence: { groupOrder: 1 },
      // Clusters wait for their nodes to agree, and to miss each other when they end.
      maxWorkers: 3,
      provide: { isClustered: true },
      // Three nodes start in the place of one.
      testTimeout: 40_000,
      hookTimeout: 60_000,
    },
  };
  return [node, cluster];
}

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => ({
  resolve: { conditions: [SOURCE] },
  ssr: { resolve: { conditions: [SOURCE] } },
  test: {
    // Its package has TypeScript under the condition by which ours are found, which Node strips in no package.
    server: { deps: { inline: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client', 'eventsource'] } },
    reporters: ['default', new ProfileReporter(), ...report()],
    globalSetup: ['test/support/build-product.ts'],
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
    // What needs longer says so itself, and why.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 10_000,
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
