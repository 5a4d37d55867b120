import type { Clause } from '../clause.ts';
import { FILES_CLAUSES } from './files.ts';
import { INPUT_CLAUSES } from './input.ts';
import { ISOLATION_CLAUSES } from './isolation.ts';
import { LIFE_CLAUSES } from './life.ts';
import { LIMITS_CLAUSES } from './limits.ts';
import { NETWORK_CLAUSES } from './network.ts';
import { OUTPUT_CLAUSES } from './output.ts';
import { PROGRAM_CLAUSES } from './program.ts';
import { TIME_CLAUSES } from './time.ts';
import { TRUTH_CLAUSES } from './truth.ts';

/** Every clause of the contract, in the order in which they are told. */
export const CLAUSES: readonly Clause[] = [
  ...PROGRAM_CLAUSES,
  ...TIME_CLAUSES,
  ...OUTPUT_CLAUSES,
  ...INPUT_CLAUSES,
  ...FILES_CLAUSES,
  ...ISOLATION_CLAUSES,
  ...LIMITS_CLAUSES,
  ...NETWORK_CLAUSES,
  ...TRUTH_CLAUSES,
  ...LIFE_CLAUSES,
];
