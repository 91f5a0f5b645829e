#!/usr/bin/env node
/**
 * The command `cairn`: reads its settings, then runs one node until it is told to stop.
 *
 * For: the way in from a shell. config.ts reads the settings of settings.ts, servers.ts puts the parts of a node
 * together, serve.ts takes it from its ready line to its end.
 *
 * Not here: any decision about data; this layer knows all others and adds nothing to what they do.
 *
 * Invariants:
 *   N1  A node runs with exactly the settings that were meant, or not at all: what is unknown or malformed ends the
 *       process with exit code 2 before anything is opened.
 *   N2  stdout carries one line, when the node is ready; everything else goes to stderr.
 *   N3  Told to stop, a node answers what it has taken in before it closes.
 */
import { readInvocation } from './config.ts';
import { renderHelp } from './config-reference.ts';
import { RELEASE } from './release.ts';
import { serve } from './serve.ts';
import { widenThreadPool } from './thread-pool.ts';

const EXIT_USAGE = 2;

const invocation = readInvocation(process.argv.slice(2), process.env);
if (invocation.kind === 'failure') {
  for (const fault of invocation.reason) process.stderr.write(`cairn: ${fault}\n`);
  process.exitCode = EXIT_USAGE;
} else {
  switch (invocation.value.kind) {
    case 'help':
      process.stdout.write(renderHelp());
      break;
    case 'version':
      process.stdout.write(`${RELEASE}\n`);
      break;
    case 'run':
      widenThreadPool(process.env);
      await serve(invocation.value.config);
      break;
  }
}
