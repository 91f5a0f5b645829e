import { defineConfig, type ViteUserConfig } from 'vitest/config';

// `#layer` imports resolve to the sources, in the test files and in every process or thread that a test starts.
const SOURCE = 'source';

const config: ViteUserConfig = defineConfig({
  resolve: { conditions: [SOURCE] },
  ssr: { resolve: { conditions: [SOURCE] } },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    execArgv: [`--conditions=${SOURCE}`],
    // Only a test that hangs should end so, on however busy a machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    passWithNoTests: false,
    allowOnly: false,
  },
});

export default config;
