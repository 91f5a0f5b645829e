#!/usr/bin/env node
/**
 * The command `cairn`: reads its settings, then runs one node until it receives a signal to stop.
 *
 * Purpose: entry point from a shell. It sets up the process before anything is loaded; command.ts runs the command.
 *
 * ```
 *   command.ts ──> node/      runs a node, from its settings to its end ─────────┐
 *             └──> commands/  clients of nodes, or work on files of stopped nodes ─┤
 *                                                                                  v
 *     process/: Node.js, memory, signals, exit codes          access/ archive/ ports/ tls/ ──> settings/
 * ```
 *
 * Not here: decisions about data. This layer knows all others and only connects them.
 *
 * Invariants:
 *   N1  A node runs with exactly the intended settings or not at all: unknown, malformed or contradictory settings end
 *       the process with exit code 2 before anything is opened.
 *   N2  stdout carries one line, when the node is ready; everything else goes to stderr.
 *   N3  After a signal to stop, a node answers the requests in flight before it closes.
 */
import { refuseOldNode, refusePermissionModel } from './process/node-checks.ts';
import { narrowBufferPool, widenThreadPool } from './process/node-pools.ts';
import { StopSignals } from './process/stop-signals.ts';
import { ensureV8Options } from './process/v8-options.ts';

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
