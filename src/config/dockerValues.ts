/** The kinds of values that only the settings of container engines have. */
import { listOf, type ValueType } from './valueTypes.ts';

const IMAGE =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[a-f0-9]{32,128})?$/;

/** The name of an image, as an engine takes it. */
export const image = word('the name of an image such as glovebox-sandbox:latest', IMAGE, 255);

/** The name of one of an engine's low-level runtimes. */
export const engineRuntime = word(
  "the name of one of the engine's runtimes such as runsc",
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  64,
);

function word(expected: string, pattern: RegExp, longest: number): ValueType<string> {
  const read = (value: unknown) =>
    typeof value === 'string' && value.length <= longest && pattern.test(value) ? value : undefined;
  return {
    expected,
    parse: read,
    read,
    schema: { type: 'string', maxLength: longest, pattern: pattern.source },
  };
}

const MEMORY = /^(\d+(?:\.\d+)?)([bkmg]?)$/i;
const BYTES_OF_SUFFIX: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
};

/** Engines refuse less than this. */
const FEWEST_MB = 6;

/** An amount of memory in Docker's notation (`256m`; a bare number is bytes), kept in MB. */
export function memorySize({ maxMb }: { readonly maxMb: number }): ValueType<number> {
  const read = (value: unknown): number | undefined => {
    const mb = bytesOf(value) / 1024 ** 2;
    return mb >= FEWEST_MB && mb <= maxMb ? mb : undefined;
  };
  return {
    expected: `an amount of memory such as 256m, with one of the suffixes b, k, m and g, and at least ${FEWEST_MB}m`,
    parse: read,
    read,
    whyNot: (written) =>
      bytesOf(written) > 0 && !/[a-z]$/i.test(String(written))
        ? 'a number without a suffix is bytes'
        : undefined,
    show: (mb) => (Number.isInteger(mb) ? `${mb}m` : `${mb * 1024 ** 2}b`),
    schema: {
      anyOf: [
        { type: 'string', pattern: '^[0-9]+([.][0-9]+)?[bkmgBKMG]?$' },
        { type: 'integer', minimum: FEWEST_MB * 1024 ** 2 },
      ],
    },
  };
}

/** NaN for what is no amount. */
function bytesOf(value: unknown): number {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number.NaN;
  const [, digits, suffix = ''] = (typeof value === 'string' && MEMORY.exec(value)) || [];
  return Math.floor(Number(digits) * (BYTES_OF_SUFFIX[suffix.toLowerCase()] ?? Number.NaN));
}

const NO_NEW_PRIVILEGES = 'no-new-privileges';

/** What may be asked of AppArmor and SELinux; the value has no `=`, so that it cannot hold an option of its own. */
const SECURITY_OPTION =
  /^(?:apparmor[=:][\w./:-]+|label[=:](?:(?:user|role|type|filetype):[\w.-]+|level:[\w.:,-]+))$/;

/** Domains of SELinux that hold nothing back. */
const WEAK_LABEL = /type:(?:spc|container_runtime)_t$/;

/** Security options that add to what holds anyway; what would take something away is refused. */
export const securityOptions: ValueType<readonly string[]> = {
  expected: 'a list of apparmor=NAME, label=PART:VALUE (such as label=type:NAME) and no-new-privileges',
  parse: (text) => listOf(text, readSecurityOption),
  read: (value) => listOf(value, readSecurityOption),
  whyNot(written) {
    const items = typeof written === 'string' ? written.split(',') : written;
    if (!Array.isArray(items)) return undefined;
    return items.map((item) => whyNotOption(String(item).trim())).find((reason) => reason !== undefined);
  },
  schema: {
    anyOf: [
      {
        type: 'array',
        items: { type: 'string', pattern: '^(apparmor=.+|label=.+:.+|no-new-privileges)$' },
      },
      { type: 'string' },
    ],
  },
};

function readSecurityOption(item: unknown): string | undefined {
  if (typeof item !== 'string' || whyNotOption(item) !== undefined) return undefined;
  return SECURITY_OPTION.test(item) ? item : NO_NEW_PRIVILEGES;
}

/** The reason to refuse an option; undefined for one that may be used. */
function whyNotOption(option: string): string | undefined {
  if (/^no-new-privileges(?:[=:]true)?$/.test(option)) return undefined;
  if (/^no-new-privileges[=:]/.test(option)) return 'new privileges are never allowed';
  if (/^seccomp(?:[=:]|$)/i.test(option)) {
    return 'the seccomp profile has a setting of its own, docker_seccomp_profile (DOCKER_SECCOMP_PROFILE)';
  }
  if (/^systempaths(?:[=:]|$)/i.test(option)) return 'systempaths uncovers what containers must not see';
  if (/unconfined/i.test(option)) return 'nothing may run unconfined';
  if (/^(?:label[=:])?disable$/i.test(option)) return 'the labels of SELinux may not be switched off';
  if (WEAK_LABEL.test(option)) return 'that type holds nothing back';
  return SECURITY_OPTION.test(option) ? undefined : `${JSON.stringify(option)} is none of them`;
}

/** The same type for a seccomp profile: one may be replaced and never taken away. */
export function profile(file: ValueType<string>): ValueType<string> {
  const isNone = (written: unknown) => /^(?:unconfined|builtin)$/i.test(String(written));
  return {
    ...file,
    parse: (text, folder) => (isNone(text) ? undefined : file.parse(text, folder)),
    read: (value, folder) => (isNone(value) ? undefined : file.read(value, folder)),
    whyNot: (written) =>
      isNone(written) ? 'the filter of system calls can be replaced and not taken away' : undefined,
  };
}
