import { type ErrorCode, SandboxError } from '../errors.ts';
import { describeOrigin, type Origin } from './origin.ts';
import { printable, quote } from './quote.ts';
import type { ValueType } from './valueTypes.ts';

/** A setting with a value that is not usable. Flags and options are the caller's, all else is configuration. */
export function unusableValue(
  origin: Exclude<Origin, { kind: 'default' }>,
  value: unknown,
  { expected, whyNot }: Pick<ValueType<unknown>, 'expected' | 'whyNot'>,
) {
  const isOverride = origin.kind === 'flag' || origin.kind === 'option';
  const code: ErrorCode = isOverride ? 'INPUT_INVALID' : 'CONFIG_INVALID';
  const reason = whyNot?.(value);
  const because = reason === undefined ? '' : `: ${printable(reason)}`;
  const where = 'path' in origin ? `${printable(origin.path)}: ` : '';
  return new SandboxError(
    code,
    `${where}${printable(origin.name)} is ${quote(value)}; it must be ${expected}${because}.`,
    {
      hint: `Correct it to ${expected}, or ${removal(origin)}.`,
      details: {
        ...('path' in origin ? { path: origin.path } : {}),
        key: origin.name,
        value: quote(value),
        origin: describeOrigin(origin),
      },
    },
  );
}

/** A file that stops everything, because going on without it could mean less than was asked for. */
export function unusableFile(
  path: string,
  problem: string,
  hint: string,
  details: { readonly key?: string; readonly value?: string; readonly origin: string },
  cause?: unknown,
): SandboxError {
  return new SandboxError('CONFIG_INVALID', `${printable(path)}: ${problem}`, {
    hint,
    details: { path, ...details },
    cause,
  });
}

function removal(origin: Exclude<Origin, { kind: 'default' }>): string {
  if (origin.kind === 'environment') return `unset ${printable(origin.name)} for the default`;
  return 'path' in origin ? 'remove the key for the default' : `leave ${printable(origin.name)} out`;
}
