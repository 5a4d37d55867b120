/** What the server tells about itself: never code, secrets or headers. */
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

export interface LoggingOptions {
  /** One JSON object for each line, instead of text for a person. */
  readonly isJson: boolean;
  /** Told each line, without its end. */
  readonly write: (line: string) => void;
}

export function openLog({ isJson, write }: LoggingOptions): Logger {
  const stream: DestinationStream = {
    write: (line) => write(isJson ? line.trimEnd() : readable(line)),
  };
  return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

const LEVELS: Readonly<Record<number, string>> = { 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

function readable(line: string): string {
  const { level, time, msg, ...told } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(told).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${LEVELS[level as number] ?? level} ${msg ?? ''}${rest.join('')}`;
}
