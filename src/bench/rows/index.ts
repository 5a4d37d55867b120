import type { Row } from '../row.ts';
import { COLD_ROWS } from './cold.ts';
import { COMMAND_LINE_ROW } from './commandLine.ts';
import { FLOOD_ROW } from './flood.ts';
import { IDLE_ROWS } from './idle.ts';
import { PEER_ROWS } from './peers.ts';
import { THROUGHPUT_ROW } from './throughput.ts';
import { WARM_ROWS } from './warm.ts';

/** Every comparison, in the order in which they are made and shown. */
export const ROWS: readonly Row[] = [
  ...COLD_ROWS,
  COMMAND_LINE_ROW,
  ...PEER_ROWS,
  ...WARM_ROWS,
  THROUGHPUT_ROW,
  ...IDLE_ROWS,
  FLOOD_ROW,
];
