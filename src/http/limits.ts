import { availableParallelism } from 'node:os';

/** What a server takes on. */
export interface Limits {
  /** Of a body of JSON. */
  readonly bodyBytes: number;
  /** Of one file, and of an archive. */
  readonly fileBytes: number;
  /** Of all bodies that are held at a time. */
  readonly bodiesBytes: number;
  readonly maxExecutions: number;
  readonly maxQueue: number;
}

/** Programs mostly wait, for deadlines and for files: twice as many as there are cores leave none idle. */
export function defaultLimits(): Limits {
  return {
    bodyBytes: 32 * 1024 ** 2,
    fileBytes: 256 * 1024 ** 2,
    bodiesBytes: 2 * 1024 ** 3,
    maxExecutions: Math.max(4, 2 * availableParallelism()),
    maxQueue: 256,
  };
}
