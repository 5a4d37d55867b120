import type { Measured, NotMeasured, Row } from '../row.ts';

/** What was measured, where and when. */
export interface BenchReport {
  /** ISO 8601. */
  readonly measuredAt: string;
  readonly pairs: number;
  readonly machine: Machine;
  readonly rows: readonly MeasuredRow[];
}

export interface MeasuredRow extends Pick<Row, 'name' | 'what' | 'unit'> {
  readonly result: Measured | NotMeasured;
}

/** As far as it explains figures. */
export interface Machine {
  readonly system: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryMb: number;
  readonly node: string;
  /** The version of the one that sandboxes use; absent where there is none. */
  readonly python?: string;
  readonly glovebox: string;
}
