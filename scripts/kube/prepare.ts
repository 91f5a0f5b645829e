/**
 * Prints the folder of the programs of a Kubernetes control plane, and builds them when they are missing.
 *
 *   node --conditions=source scripts/kube/prepare.ts [--no-build]
 *
 * With --no-build it fails instead.
 */
import { findKubeBinaries, kubeBinaries } from './binaries.ts';

const found = process.argv.includes('--no-build') ? findKubeBinaries() : kubeBinaries();
console.log(found ?? 'the programs of the control plane were never built here');
process.exitCode = found === undefined ? 1 : 0;
