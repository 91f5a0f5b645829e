/** All mutants, in the order in which they run. */
import { MUTANTS } from './catalogue.ts';
import { CLUSTER_MUTANTS } from './cluster-catalogue.ts';
import { DEFINITION_MUTANTS } from './definition-catalogue.ts';
import { GUARDED_MUTANTS } from './guarded-catalogue.ts';
import { HISTORY_MUTANTS } from './history-catalogue.ts';
import { LANE_MUTANTS } from './lane-catalogue.ts';
import { LEDGER_MUTANTS } from './ledger-catalogue.ts';
import type { Mutant } from './mutant.ts';
import { SEGMENT_MUTANTS } from './segment-catalogue.ts';
import { TIME_MUTANTS } from './time-catalogue.ts';

export const ALL_MUTANTS: readonly Mutant[] = [
  ...MUTANTS,
  ...CLUSTER_MUTANTS,
  ...LANE_MUTANTS,
  ...DEFINITION_MUTANTS,
  ...TIME_MUTANTS,
  ...GUARDED_MUTANTS,
  ...HISTORY_MUTANTS,
  ...SEGMENT_MUTANTS,
  ...LEDGER_MUTANTS,
];
