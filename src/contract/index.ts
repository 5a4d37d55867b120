/** The contract as a library: what the author of a driver runs against it. */
export type { Box, Ran, RunOptions } from './box.ts';
export type { Clause, ClauseContext, ClauseReport } from './clause.ts';
export { CLAUSES } from './clauses/index.ts';
export { type VerifyOptions, verifyContract } from './verify.ts';
export type { PolicyWish } from './wish.ts';
