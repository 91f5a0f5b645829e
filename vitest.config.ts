import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

// `#layer` imports resolve to the sources, in the test files and in every process or thread that a test starts.
const SOURCE = 'source';

const config: ViteUserConfig = defineConfig({
  resolve: { conditions: [SOURCE] },
  ssr: { resolve: { conditions: [SOURCE] } },
  test: {
    // Its package has TypeScript under the condition by which ours are found, which Node strips in no package.
    server: { deps: { inline: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client', 'eventsource'] } },
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build-product.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    execArgv: [`--conditions=${SOURCE}`],
    // A process that a test starts need not compile again what one before it has compiled.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
    // What needs longer says so itself, and why.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 10_000,
    passWithNoTests: false,
    allowOnly: false,
  },
});

export default config;
