/** What an API key is. */
import { z } from 'zod';
import { SandboxError } from '../errors.ts';

/** What a key may be used for: running code, answering questions, reading the record, reading the measurements. */
export const SCOPES = ['execute', 'approve', 'audit', 'metrics'] as const;
export type Scope = (typeof SCOPES)[number];

const NO_NUMBER = 'must be a whole number above 0';
const whole = z.number({ error: NO_NUMBER }).int(NO_NUMBER).positive(NO_NUMBER);

const quotas = z.strictObject({
  /** That live at once. */
  maxSandboxes: whole.optional(),
  executionsPerMinute: whole.optional(),
  cpuSecondsPerHour: whole.optional(),
  /** Of files and output, in and out. */
  bytesPerHour: whole.optional(),
});

/** What a key may use; what is not named is not limited. */
export type Quotas = Readonly<z.infer<typeof quotas>>;

const MAX_NAME = 100;
const TEN_YEARS_SEC = 10 * 366 * 24 * 3600;
const NO_EXPIRY = 'must be above 0 and at most ten years';

const name = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_NAME, `has at most ${MAX_NAME} characters`)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must have no control characters');
const scopes = z
  .array(z.enum(SCOPES, { error: `must be of: ${SCOPES.join(', ')}` }))
  .min(1, 'must not be empty')
  .transform((given) => SCOPES.filter((scope) => given.includes(scope)));

const newKey = z.strictObject({
  name,
  scopes,
  quotas: quotas.default({}),
  expiresInSec: z.number({ error: NO_EXPIRY }).positive(NO_EXPIRY).max(TEN_YEARS_SEC, NO_EXPIRY).optional(),
});

/** What a key is made from. */
export type NewKey = z.input<typeof newKey>;

const time = z.iso.datetime();

/** A secret as it is kept: its SHA-256, and until when it holds where another one has taken its place. */
const storedSecret = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  until: time.optional(),
});

/** A key as it is kept; its secrets, the newest first. */
export const storedKey = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  name,
  scopes,
  quotas,
  createdAt: time,
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  secrets: z.array(storedSecret).min(1).max(2),
});
export type StoredKey = z.infer<typeof storedKey>;

/** A key as everybody may see it; times are ISO 8601. */
export type Key = Readonly<Omit<StoredKey, 'secrets'>>;

/** Whether it holds at a time, in milliseconds since 1970. Pure. */
export function isLive({ revokedAt, expiresAt }: Key, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || now < Date.parse(expiresAt));
}

/** Checks what a key is to be made from. Throws `INPUT_INVALID`. Pure. */
export function parseNewKey(given: NewKey): z.output<typeof newKey> {
  const parsed = newKey.safeParse(given);
  if (parsed.success) return parsed.data;
  const told = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the key'}: ${message}`);
  throw new SandboxError('INPUT_INVALID', `No such key can be made: ${told.join('; ')}.`, {
    hint: 'A key has a name, scopes, and quotas that are whole numbers above 0. See: glovebox keys create --help',
  });
}
