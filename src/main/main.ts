#!/usr/bin/env node
/**
 * The command `cairn`: reads its settings, then runs one node until it is told to stop.
 *
 * For: the way in from a shell. node-version.ts, permissions.ts, v8-options.ts, stop-signals.ts, thread-pool.ts and
 * buffer-pool.ts see to what must be set before anything is loaded; command.ts does what was asked, with the settings
 * that config.ts reads; servers.ts puts the parts of a node together, serve.ts takes it from its ready line to its end.
 *
 * Not here: any decision about data; this layer knows all others and adds nothing to what they do.
 *
 * Invariants:
 *   N1  A node runs with exactly the settings that were meant, or not at all: what is unknown, malformed or
 *       contradictory ends the process with exit code 2 before anything is opened.
 *   N2  stdout carries one line, when the node is ready; everything else goes to stderr.
 *   N3  Told to stop, a node answers what it has taken in before it closes.
 */
import { narrowBufferPool } from './buffer-pool.ts';
import { refuseOldNode } from './node-version.ts';
import { refusePermissionModel } from './permissions.ts';
import { StopSignals } from './stop-signals.ts';
import { widenThreadPool } from './thread-pool.ts';
import { ensureV8Options } from './v8-options.ts';

// The files of a node are for its own user.
process.umask(0o077);
refuseOldNode();
refusePermissionModel();
ensureV8Options();
const signals = new StopSignals();
widenThreadPool(process.env);
narrowBufferPool();
const { runCommand } = await import('./command.ts');
await runCommand(signals);
