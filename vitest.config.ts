import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

// `#layer` imports resolve to the sources, in the test files and in every process or thread that a test starts.
const SOURCE = 'source';

/**
 * The clauses of the specification run twice: on one node, and on a cluster of three that hold every database, where
 * each protocol is spoken by another of them (test/support/server-cluster.ts). On clusters there are not these, each of
 * which docs/spec/README.md tells with what it alone shows (test/tidy/clauses.ts):
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
  // They take long, and show in a browser, or by the protocol's suite, what other files compare on clusters.
  'http-html-browser',
  'mcp-conformance',
];

const config: ViteUserConfig = defineConfig({
  resolve: { conditions: [SOURCE] },
  ssr: { resolve: { conditions: [SOURCE] } },
  test: {
    // Its package has TypeScript under the condition by which ours are found, which Node strips in no package.
    server: { deps: { inline: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client', 'eventsource'] } },
    globalSetup: ['test/support/build-product.ts'],
    setupFiles: ['test/support/file-scope.ts', 'test/support/property-seed.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    // A process for each of six hundred files would take a third of the time, to load the same packages again and
    // again. So what a file starts it ends, and what it changes of its process it puts back.
    isolate: false,
    execArgv: [`--conditions=${SOURCE}`],
    // A process that a test starts need not compile again what one before it has compiled.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
    // What needs longer says so itself, and why.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 10_000,
    passWithNoTests: false,
    allowOnly: false,
    projects: [
      { extends: true, test: { name: 'node', include: ['test/**/*.test.ts'], sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: 'cluster',
          // Behind the others, some of which look at the clock.
          sequence: { groupOrder: 1 },
          include: ['test/spec/**/*.test.ts'],
          exclude: OF_ONE_NODE.map((name) => `test/spec/${name}.test.ts`),
          provide: { isClustered: true },
          // Three nodes start in the place of one.
          testTimeout: 40_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});

export default config;
