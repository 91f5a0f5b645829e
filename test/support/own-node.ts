/** Runs the product in separate processes, which end with the running test. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { type NodeOptions, type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { productArgs } from '../../chaos/support/product.ts';
import { endWithTest } from './test-scope.ts';

/** An environment without variables that a node could read as settings. */
export const BARE_ENV: NodeJS.ProcessEnv = { PATH: '', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

/** Settings of a node whose store soon has many tables. */
export const SMALL_STORE: readonly string[] = ['--store-write-buffer-bytes=1MiB'];

/** Starts a node with a small log. */
export function startOwnNode(
  dataDir: string,
  settings: readonly string[] = [],
  more: Partial<NodeOptions> = {},
): Promise<NodeProcess> {
  const small = ['--wal-segment-bytes=4MiB', ...settings];
  return startNode({ dataDir, settings: small, onSpawn: endWithTest, ...more });
}

/** Runs a command to its end, with options of Node.js before it. */
export function runProduct(args: readonly string[], flags: readonly string[] = []): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [...flags, ...productArgs(), ...args], { encoding: 'utf8', env: BARE_ENV });
}
